/** Made-up secrets in the forms in which programs print them, and the search for any trace of them. */
import { createHash } from "node:crypto";
import { lstatSync, readFileSync, readlinkSync } from "node:fs";
import { relative } from "node:path";
import { entriesBelow } from "./tree.ts";

export interface PlantedSecrets {
  /** Name → text as it is printed. Twenty, each with a part that must not survive. */
  readonly forms: Readonly<Record<string, string>>;
  /** Variables of the tool's own environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Everything that counts as a leak when a piece of it is found. */
  readonly values: readonly string[];
}

/** A leak is this many characters of a value in a row. */
export const LEAK_CHARS = 12;

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

export function plantedSecrets(seed: number): PlantedSecrets {
  const made = (name: string, length: number): string => {
    let text = "";
    for (let block = 0; text.length < length; block += 1)
      for (const byte of createHash("sha256").update(`${seed} ${name} ${block}`).digest())
        text += ALPHABET[byte % ALPHABET.length];
    return text.slice(0, length);
  };
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  const github = `ghp_${made("github", 36)}`;
  const openai = `sk-proj-${made("openai", 48)}`;
  const anthropic = `sk-ant-api03-${made("anthropic", 80)}`;
  const aws = made("aws", 40);
  const password = made("password", 20);
  const jwt = `eyJ${made("head", 30)}.eyJ${made("body", 60)}.${made("sign", 43)}`;
  const known = made("known", 32);
  const [pemA, pemB] = [made("pem a", 64), made("pem b", 64)];
  const hex = Buffer.from(known).toString("hex");
  const forms = {
    plain: `token is ${github} ok`,
    "in quotes": `{"api_key":"${openai}"}`,
    "as an assignment": `export MY_SERVICE_TOKEN=${known}`,
    "as a bearer": `Authorization: Bearer ${jwt}`,
    "in a basic header": `Authorization: Basic ${base64(`user:${password}`)}`,
    "before a host": `postgres://user:${password}@db.invalid/x`,
    "in a query": `GET /v1?access_token=${github}&x=1`,
    "percent-encoded": `password=${encodeURIComponent(`p@ss/${password}`)}`,
    "a known value in base64": `blob ${base64(known)}`,
    "a known value in hex": `hex ${hex}`,
    "escaped twice": JSON.stringify(JSON.stringify({ k: openai })),
    coloured: `\u001b[31m${github}\u001b[0m`,
    "coloured in the middle": `${github.slice(0, 20)}\u001b[1m${github.slice(20)}`,
    "wrapped over two lines": `${anthropic.slice(0, 46)}\\\n${anthropic.slice(46)}`,
    "a private key": `-----BEGIN PRIVATE KEY-----\n${pemA}\n${pemB}\n-----END PRIVATE KEY-----`,
    "a private key on one line": `"-----BEGIN PRIVATE KEY-----\\n${pemA}\\n${pemB}\\n-----END PRIVATE KEY-----"`,
    "a pair of AWS": `aws_secret_access_key = ${aws}`,
    "under a name in capitals": `PASSWORD: "${password}"`,
    "a known value by itself": known,
    "at the end without a line end": `last ${openai}`,
  };
  return {
    forms,
    env: { MY_SERVICE_TOKEN: known, GITHUB_TOKEN: github, OPENAI_API_KEY: openai },
    values: [
      github,
      openai,
      anthropic,
      aws,
      password,
      jwt,
      known,
      pemA,
      pemB,
      hex,
      base64(known),
      base64(`user:${password}`),
    ],
  };
}

/** Where pieces of the values are found in `text`, also across colours and wrapped lines. */
export function leaksIn(text: string, values: readonly string[]): string[] {
  const plain = text.replace(ANSI, "").replace(WRAP, "");
  return values.flatMap((value) => {
    for (let at = 0; at + LEAK_CHARS <= value.length; at += 1) {
      const piece = value.slice(at, at + LEAK_CHARS);
      if (text.includes(piece) || plain.includes(piece))
        return [`${value.slice(0, 8)}… from its character ${at} on`];
    }
    return [];
  });
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: terminal colours are made of them
const ANSI = /(?:\u001b|\\+u001b)\[[0-9;]*m/g;
/** A wrapped line, as it stands or inside JSON, to any depth. */
const WRAP = /\\\r?\n|\\{3,12}(?:r\\+)?n/g;

/** Every name, link and byte below a folder. */
export function leaksBelow(folder: string, values: readonly string[]): string[] {
  return entriesBelow(folder).flatMap((path) => {
    const stat = lstatSync(path);
    const name = relative(folder, path);
    const content = stat.isFile()
      ? readFileSync(path, "latin1")
      : stat.isSymbolicLink()
        ? readlinkSync(path)
        : "";
    return [name, content].flatMap((text) => leaksIn(text, values).map((leak) => `${name}: ${leak}`));
  });
}
