import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SECRET_PATTERNS } from "../../src/core/secret-patterns.ts";
import { createRedactor, redactText } from "../../src/run/redact.ts";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** Fake values, the same for each run: `name` in, random characters out. */
function fake(name: string, length: number, alphabet = LETTERS): string {
  let text = "";
  for (let block = 0; text.length < length; block += 1)
    for (const byte of createHash("sha256").update(`${name}/${block}`).digest())
      text += alphabet[byte % alphabet.length];
  return text.slice(0, length);
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const github = `ghp_${fake("github", 36)}`;
const openai = `sk-proj-${fake("openai", 48)}`;
const anthropic = `sk-ant-api03-${fake("anthropic", 80)}`;
const awsSecret = fake("aws", 40);
const password = `${fake("password", 18)}7Q`;
const jwt = `eyJ${fake("jwt1", 30)}.eyJ${fake("jwt2", 60)}.${fake("jwt3", 43)}`;
const known = fake("known", 32);
const pem = [fake("pem1", 64), fake("pem2", 64)] as const;
const percent = encodeURIComponent(`p@ss/${password}`);

const FORMS: readonly (readonly [string, string])[] = [
  ["as it is", `token is ${github} ok`],
  ["in quotes", `{"api_key":"${openai}"}`],
  ["assigned to a variable", `export MY_SERVICE_TOKEN=${known}`],
  ["as a bearer token", `Authorization: Bearer ${jwt}`],
  ["in a basic header", `Authorization: Basic ${base64(`user:${password}`)}`],
  ["as user info of a URL", `postgres://user:${password}@db.invalid/x`],
  ["in the query of a URL", `GET /v1?access_token=${github}&x=1`],
  ["percent-encoded", `password=${percent}`],
  ["a known value in base64", `blob ${base64(known)}`],
  ["a known value in base64, not at its start", `blob ${base64(`x:${known}:y`)}`],
  ["a known value in hex", `hex ${Buffer.from(known).toString("hex")}`],
  ["escaped twice for JSON", JSON.stringify(JSON.stringify({ k: openai }))],
  ["coloured", `\u001b[31m${github}\u001b[0m`],
  ["with a colour change in its middle", `${github.slice(0, 20)}\u001b[1m${github.slice(20)}`],
  [
    "with an escaped colour change in its middle",
    `{"text":"${github.slice(0, 20)}\\u001b[1m${github.slice(20)}"}`,
  ],
  ["wrapped over two lines", `${anthropic.slice(0, 46)}\\\n${anthropic.slice(46)}`],
  [
    "wrapped over two lines inside JSON",
    JSON.stringify({ text: `${anthropic.slice(0, 46)}\\\n${anthropic.slice(46)}` }),
  ],
  [
    "wrapped over two lines with CRLF inside JSON",
    JSON.stringify({ text: `${anthropic.slice(0, 46)}\\\r\n${anthropic.slice(46)}` }),
  ],
  [
    "wrapped over two lines inside JSON inside JSON",
    JSON.stringify(JSON.stringify({ text: `${anthropic.slice(0, 46)}\\\n${anthropic.slice(46)}` })),
  ],
  [
    "a known value wrapped inside JSON three deep",
    JSON.stringify(JSON.stringify(JSON.stringify(`${known.slice(0, 15)}\\\r\n${known.slice(15)}`))),
  ],
  [
    "with a colour change escaped twice",
    JSON.stringify(JSON.stringify({ text: `${github.slice(0, 20)}\u001b[1m${github.slice(20)}` })),
  ],
  [
    "with a colour change escaped in capitals",
    `{"text":"${github.slice(0, 20)}\\u001B[1m${github.slice(20)}"}`,
  ],
  ["a private key", `-----BEGIN PRIVATE KEY-----\n${pem[0]}\n${pem[1]}\n-----END PRIVATE KEY-----`],
  [
    "a private key on one line",
    `"-----BEGIN PRIVATE KEY-----\\n${pem[0]}\\n${pem[1]}\\n-----END PRIVATE KEY-----"`,
  ],
  ["an AWS pair", `aws_secret_access_key = ${awsSecret}`],
  ["in capitals, with a colon", `PASSWORD: "${password}"`],
  ["with the value on the next line", `password:\n  ${password}`],
  [
    "in a hyperlink of the terminal",
    `\u001b]8;;https://user:${password}@host.invalid\u001b\\link\u001b]8;;\u001b\\`,
  ],
];

const NEEDLES = [
  github,
  openai,
  anthropic,
  awsSecret,
  password,
  jwt,
  known,
  ...pem,
  base64(known),
  base64(`user:${password}`),
  Buffer.from(known).toString("hex"),
];
const GRAMS = new Set(
  NEEDLES.flatMap((needle) =>
    Array.from({ length: needle.length - 11 }, (_, at) => needle.slice(at, at + 12)),
  ),
);

const ESC = "\u001b";
const COLOUR = new RegExp(`(?:${ESC}|\\\\+u001[bB])\\[[0-9;]*m`, "g");
const WRAP = /\\\r?\n|\\{3,12}(?:r\\+)?n/g;

/** Twelve characters of a secret in a row, as they stand or once colours and wraps are taken away; null: none. */
function leak(text: string): string | null {
  const plain = text.replace(COLOUR, "").replace(WRAP, "");
  for (const view of [text, plain])
    for (let at = 0; at + 12 <= view.length; at += 1)
      if (GRAMS.has(view.slice(at, at + 12))) return view.slice(at, at + 12);
  return null;
}

function stream(chunks: readonly Buffer[], values: readonly string[]): string {
  const redactor = createRedactor({ values });
  return Buffer.concat([...chunks.map((chunk) => redactor.push(chunk)), redactor.flush()]).toString();
}

const cutAt = (bytes: Buffer, ...offsets: number[]): Buffer[] =>
  [0, ...offsets].map((from, index) => bytes.subarray(from, offsets[index] ?? bytes.length));

describe("a secret in one of its forms", () => {
  it.each(FORMS)("%s does not leave the stream, wherever it is cut", (_, form) => {
    for (const ending of ["\nafter\n", ""]) {
      const bytes = Buffer.from(`before\n${form}${ending}`);
      const whole = redactText(bytes.toString(), [known, github]);
      expect(leak(whole)).toBeNull();
      expect(whole.startsWith("before\n")).toBe(true);
      expect(whole.endsWith(ending)).toBe(true);
      for (let at = 0; at <= bytes.length; at += 1)
        expect(stream(cutAt(bytes, at), [known, github])).toBe(whole);
      expect(stream(cutAt(bytes, ...bytes.keys()), [known, github])).toBe(whole);
    }
  });

  it.each(FORMS)("%s does not leave a line that is longer than what is held back", (_, form) => {
    const filler = "filler ".repeat(6_000);
    const bytes = Buffer.from(`${filler}${form} ${filler}\n`);
    const expected = redactText(bytes.toString(), [known]);
    expect(leak(expected)).toBeNull();
    for (const size of [1_000, 4_096, 8_191, 65_536]) {
      const edges = Array.from(
        { length: Math.floor(bytes.length / size) },
        (__, index) => (index + 1) * size,
      );
      expect(stream(cutAt(bytes, ...edges), [known])).toBe(expected);
    }
  });

  it("is recognised by what stands before it, although that has left already", () => {
    const telegram = `123456789:AA${"Abc1".repeat(8)}x`;
    const filler = "lorem ipsum ".repeat(3_000);
    // A long line is let go up to some place near its end; each run puts that place elsewhere in the token.
    for (let size = 8_150; size < 8_250; size += 1) {
      const bytes = Buffer.from(`${filler}${telegram}${filler.slice(0, size)}`);
      const text = stream([bytes, Buffer.from(" end\n")], []);
      expect(text).toBe(redactText(`${bytes.toString()} end\n`, []));
      expect(text).not.toContain(telegram.slice(-12));
    }
  });

  it("is the same for any cutting of any mixture of forms, noise, colours and long lines", () => {
    const noise = fc.oneof(
      fc.constantFrom(
        "\n",
        "\r\n",
        "\\\n",
        "\u001b[0m",
        "\\",
        "\u001b",
        "eyJ",
        "sk-",
        "://",
        "token",
        "-----BEGIN ",
      ),
      fc.string({ unit: "grapheme", maxLength: 40 }),
      fc.constantFrom(...FORMS.map(([, form]) => form)),
      fc.nat({ max: 20_000 }).map((length) => "lorem ipsum ".repeat(length / 12)),
    );
    fc.assert(
      fc.property(
        fc.array(noise, { maxLength: 14 }),
        fc.array(fc.nat(), { maxLength: 12 }),
        (parts, seeds) => {
          const bytes = Buffer.from(parts.join(""));
          const cuts = seeds.map((seed) => seed % (bytes.length + 1)).sort((a, b) => a - b);
          const values = [known, password];
          expect(stream(cutAt(bytes, ...cuts), values)).toBe(redactText(bytes.toString(), values));
        },
      ),
      { numRuns: 300, seed: 20_261_129 },
    );
  });
});

describe("known values", () => {
  const value = "tok_TEST_ABCDEFGH12345678";

  it("are masked at every split offset", () => {
    const bytes = Buffer.from(`before ${value} after`);
    for (let at = 0; at <= bytes.length; at += 1)
      expect(stream(cutAt(bytes, at), [value])).toBe("before [REDACTED] after");
  });

  it("are masked in the encodings that programs print", () => {
    const secret = 'a "quoted"\\path+with/é';
    const once = JSON.stringify(secret);
    for (const text of [
      secret,
      once.slice(1, -1),
      JSON.stringify(once).slice(3, -3),
      encodeURIComponent(secret),
      new URLSearchParams({ secret }).toString().slice("secret=".length),
      base64(secret).replace(/=+$/, "").slice(0, -1),
      Buffer.from(secret).toString("base64url").slice(0, -1),
      Buffer.from(secret).toString("hex").toUpperCase(),
    ])
      expect(redactText(`<${text}>`, [secret])).toMatch(/^<\[REDACTED\].{0,2}>$/);
  });

  it("of several lines are masked line by line, however they are indented", () => {
    const value = "first-line-of-it\nsecond-line-of-it\n";
    expect(redactText("  first-line-of-it\r\n    second-line-of-it\n", [value])).toBe(
      "  [REDACTED]\r\n    [REDACTED]\n",
    );
  });

  it("longer than what a stream holds back are masked piece by piece", () => {
    const value = fake("long", 20_000);
    const bytes = Buffer.from(`<${value}>`);
    for (const size of [1_000, 5_000, 20_002]) {
      const edges = Array.from({ length: Math.floor(bytes.length / size) }, (_, index) => (index + 1) * size);
      expect(stream(cutAt(bytes, ...edges), [value]).replaceAll("[REDACTED]", "")).toBe("<>");
    }
  });

  it("shorter than six characters stay: they are words", () => {
    expect(redactText("true 12345 abc", ["true", "12345", "", " abc "])).toBe("true 12345 abc");
  });

  it("any value of any characters is masked wherever it stands", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", minLength: 6, maxLength: 60 }),
        fc.string({ maxLength: 20 }),
        (value, around) => {
          fc.pre(
            value.trim().length >= 6 &&
              !/[\r\n\\]/.test(value) &&
              !value.includes(ESC) &&
              !around.includes(value.trim()),
          );
          expect(redactText(`${around}${value.trim()}`, [value])).not.toContain(value.trim());
        },
      ),
      { numRuns: 200, seed: 7 },
    );
  });
});

describe("ordinary text", () => {
  it("passes byte for byte, line by line, as soon as a line is whole", () => {
    const redactor = createRedactor({ values: [known] });
    expect(redactor.push(Buffer.from("one\ntwo")).toString()).toBe("one\n");
    expect(redactor.push(Buffer.from("\nthree")).toString()).toBe("two\n");
    expect(redactor.flush().toString()).toBe("three");
    expect(redactor.count).toBe(0);
  });

  it("that is not UTF-8 passes unchanged too", () => {
    const bytes = Buffer.from([0xff, 0x00, 0xc3, 0x28, 0x0a, 0xa0, 0x85]);
    const redactor = createRedactor({ values: [] });
    expect(Buffer.concat([redactor.push(bytes), redactor.flush()])).toEqual(bytes);
  });

  it("a password with a letter whose second byte looks like a space is masked whole", () => {
    expect(redactText("password=s3cr\u00e0tvalue1 end", [])).toBe("password=[REDACTED] end");
  });

  it("of commit ids, UUIDs, digests, URLs and code is left alone", () => {
    const lines = [
      "commit 4f2c9a0b7d3e1c5a9b8f7e6d5c4b3a2f1e0d9c8b",
      "id 123e4567-e89b-12d3-a456-426614174000",
      "sha512-0b5n1a8Jq9f0vPz7KfQv3o1sX2yT4uW6zA8cE0gI2kM4oQ6sU8wY==",
      "GET https://example.invalid/v1/items?page=3 200 12ms",
      "const token = tokens[0]; if (!token) throw new Error('no token');",
      '{"usage":{"input_tokens":1200,"output_tokens":31}}',
      "Password: (leave empty to keep the current one)",
    ];
    const text = `${lines.join("\n")}\n`;
    expect(redactText(text, [])).toBe(text);
  });

  it("masking twice changes nothing more", () => {
    for (const [, form] of FORMS) {
      const once = redactText(form, [known]);
      expect(redactText(once, [known])).toBe(once);
    }
  });
});

describe("bad input", () => {
  const fill = (unit: string): Buffer =>
    Buffer.from(unit.repeat(Math.ceil(65_536 / unit.length)).slice(0, 65_536));
  const after = [
    "",
    "a",
    "=",
    ": ",
    `=${"b".repeat(99)}`,
    " ".repeat(30),
    "a".repeat(200),
    `${"A".repeat(40)}.`,
    "-",
    "\\\n",
  ];

  it.each(SECRET_PATTERNS.map((row) => [row.id, row.anchors] as const))(
    "64 KB of anchors of `%s` cost at most 20 ms",
    (_, anchors) => {
      for (const anchor of [anchors[0] ?? "", anchors.at(-1) ?? ""])
        for (const tail of after) expect(bestCpuMs(fill(`${anchor}${tail}`), 20)).toBeLessThan(20);
    },
  );

  it("endless colour codes or wraps are not held back for ever", () => {
    for (const beginning of ["", "x", "password:\n"])
      for (const unit of ["\u001b[1m", "\\\n", "\\\\\\n", "\\\\\\r\\n", "\\"]) {
        const redactor = createRedactor({ values: [] });
        const chunk = fill(unit);
        let out = redactor.push(Buffer.from(beginning)).length;
        for (let round = 0; round < 16; round += 1) out += redactor.push(chunk).length;
        expect(out).toBeGreaterThan(16 * 65_536 - 200_000);
        expect(out + redactor.flush().length).toBe(beginning.length + 16 * 65_536);
      }
  });

  /** The best of a few tries: other programs on the machine only ever add. */
  function bestCpuMs(bytes: Buffer, enough: number): number {
    let best = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 8 && best >= enough; round += 1) {
      const redactor = createRedactor({ values: [known] });
      const before = process.cpuUsage();
      redactor.push(bytes);
      const spent = process.cpuUsage(before);
      best = Math.min(best, (spent.user + spent.system) / 1_000);
    }
    return best;
  }
});
