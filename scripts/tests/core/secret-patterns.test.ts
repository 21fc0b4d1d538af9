import { describe, expect, it } from "vitest";
import { looksSecretName, SECRET_PATTERNS, type SecretPattern } from "../../src/core/secret-patterns.ts";
import { chars, FAKES, hex } from "../support/fake-secrets.ts";

const firstMatch = (entry: SecretPattern, text: string): RegExpExecArray | null =>
  new RegExp(entry.pattern.source, entry.pattern.flags).exec(text);

describe("the table of secret shapes", () => {
  it("has a made-up value for every shape, and at least twenty", () => {
    expect(Object.keys(FAKES).sort()).toEqual(SECRET_PATTERNS.map((entry) => entry.id).sort());
    expect(SECRET_PATTERNS.length).toBeGreaterThanOrEqual(20);
  });

  it.each(SECRET_PATTERNS.map((entry) => [entry.id, entry] as const))(
    "%s matches its value from an anchor on, within its longest length",
    (id, entry) => {
      const match = firstMatch(entry, `before ${FAKES[id]} after`);
      expect(match).not.toBeNull();
      const text = match?.[0] ?? "";
      expect(entry.anchors.some((anchor) => text.startsWith(anchor))).toBe(true);
      expect(text.length).toBeLessThanOrEqual(entry.maxLength);
      expect(entry.pattern.flags).toContain("g");
      if (entry.group !== undefined) expect(match?.[entry.group]?.length).toBeGreaterThan(3);
    },
  );

  it.each(SECRET_PATTERNS.map((entry) => [entry.id, entry] as const))(
    "%s takes at most 20 ms per 64 KB of its own anchors",
    (_id, entry) => {
      for (const text of entry.anchors.flatMap(hostileTexts)) {
        // A busy machine only ever adds: one round within the bound shows it.
        let least = Number.POSITIVE_INFINITY;
        for (let round = 0; round < 5 && least >= 20; round += 1) least = Math.min(least, time(entry, text));
        expect(least).toBeLessThan(20);
      }
    },
  );

  it.each(SECRET_PATTERNS.map((entry) => [entry.id, entry] as const))(
    "%s never matches more than its longest length",
    (id, entry) => {
      const value = FAKES[id] ?? "";
      for (const tail of [chars(20_000), hex(20_000), "x\\\n".repeat(7_000), `${value} `.repeat(50)])
        for (const match of `${value}${tail}`.matchAll(entry.pattern))
          expect(match[0].length).toBeLessThanOrEqual(entry.maxLength);
    },
  );
});

function hostileTexts(anchor: string): string[] {
  const size = 65_536;
  const fill = (unit: string): string => unit.repeat(Math.ceil(size / unit.length)).slice(0, size);
  return [
    fill(anchor),
    fill(`${anchor}a`),
    fill(`${anchor}1`),
    fill(`${anchor}=`),
    fill(`${anchor}:${" ".repeat(3)}`),
    fill(`${anchor}=aaaaaaa`),
    fill(`${anchor}${"A".repeat(40)}.`),
    anchor + fill("a"),
    anchor + fill("1"),
    anchor + fill("a\\\n"),
  ];
}

function time(entry: SecretPattern, text: string): number {
  const from = process.cpuUsage();
  text.replace(entry.pattern, "");
  const used = process.cpuUsage(from);
  return ((used.user + used.system) / 1_000) * (65_536 / text.length);
}

describe("text without secrets", () => {
  const CLEAN = [
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "request 3f2504e0-4f89-11d3-9a0c-0305e82c3301 done in 12ms",
    "sha512-0b5n1a8Jq9f0vPz7KfQv3o1sX2yT4uW6zA8cE0gI2kM4oQ6sU8wY==",
    "password: required",
    "the token: a word",
    "token = match[0];",
    "const token = await readToken(file);",
    "login(user=user, password=password)",
    "export GITHUB_TOKEN=$TOKEN_FROM_STORE",
    "export GITHUB_TOKEN=***",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a shell's placeholder
    "PASSWORD=${PASSWORD}",
    "Authorization: Bearer <token>",
    "https://user:<password>@host/",
    "task-management-system-for-very-large-organisations-everywhere",
    "sk-learn-contrib",
    "max_tokens: 12345678",
    "Basic implementation of the infrastructure",
    "git@github.com:owner/repository.git",
    "http://localhost:8080/a@b",
    'import { token } from "./token.ts";',
  ];

  it.each(CLEAN)("%s", (line) => {
    const found = SECRET_PATTERNS.filter((entry) => firstMatch(entry, line) !== null);
    expect(found.map((entry) => entry.id)).toEqual([]);
  });
});

describe("names of variables", () => {
  it.each([
    "GITHUB_TOKEN",
    "OPENAI_API_KEY",
    "AWS_SECRET_ACCESS_KEY",
    "DB_PASSWORD",
    "dbPassword",
    "PASSPHRASE",
    "SSH_AUTH_SOCK",
    "SENTRY_DSN",
    "DATABASE_URL",
    "GH_PAT",
    "service-account-credentials",
  ])("%s looks secret", (name) => expect(looksSecretName(name)).toBe(true));

  it.each([
    "PATH",
    "HOME",
    "LANG",
    "KEYBOARD_LAYOUT",
    "TOKENIZERS_PARALLELISM",
    "MAX_TOKENS",
    "AUTHOR",
    "SSH_PUBLIC_KEY",
    "CI",
    "MONKEY",
  ])("%s does not", (name) => expect(looksSecretName(name)).toBe(false));
});
