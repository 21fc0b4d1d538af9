import { describe, expect, it } from "vitest";
import { checkSecrets } from "../../src/plan/check-secrets.ts";
import { saidBy } from "./rule-support.ts";

const TOKEN = `ghp_${"a1B2".repeat(9)}`;
const FIX =
  "remove it and replace the credential, since it was written down; a runtime uses its own login, and a program gets a variable by name from `invocation.env_allow`";
const secrets = (value: unknown): string[] => saidBy((say) => checkSecrets(value, say));
const named = (place: string, label: string, flag: string): string =>
  `secret-in-spec ${place} \`${label}\` holds a value for the secret-named flag \`${flag}\` | ${FIX}`;

describe("a credential in a file", () => {
  it("is told with its place and its kind, wherever it stands", () => {
    expect(secrets({ a: [{ b: `use ${TOKEN}` }, 1, null, true], c: TOKEN })).toEqual([
      `secret-in-spec a[0].b \`b\` holds a GitHub token | ${FIX}`,
      `secret-in-spec c \`c\` holds a GitHub token | ${FIX}`,
    ]);
    expect(secrets({ a: ["x", TOKEN, { b: TOKEN }] })).toEqual([
      `secret-in-spec a[1] \`a[1]\` holds a GitHub token | ${FIX}`,
      `secret-in-spec a[2].b \`b\` holds a GitHub token | ${FIX}`,
    ]);
    expect(secrets(TOKEN)).toEqual([`secret-in-spec - the file holds a GitHub token | ${FIX}`]);
  });

  it("is told once for each kind in a text", () => {
    expect(secrets({ a: `${TOKEN} ${TOKEN} AKIA${"A1B2C3D4".repeat(2)}` })).toEqual([
      `secret-in-spec a \`a\` holds a GitHub token | ${FIX}`,
      `secret-in-spec a \`a\` holds an AWS access key id | ${FIX}`,
    ]);
  });

  it("is told as a key without its name", () => {
    expect(secrets({ jobs: [{ [TOKEN]: 1 }] })).toEqual([
      `secret-in-spec jobs[0] a key in \`jobs[0]\` holds a GitHub token | ${FIX}`,
    ]);
    expect(secrets({ [TOKEN]: {} })).toEqual([
      `secret-in-spec - a key in the file holds a GitHub token | ${FIX}`,
    ]);
  });

  it.each(["text", "list", "key", "map"])("is found behind much other %s", (kind) => {
    const much = "x".repeat(9_000);
    const value = {
      text: { a: much, b: TOKEN },
      list: { a: [much, [much]], b: [[TOKEN]] },
      key: { [much]: 1, b: { [TOKEN]: 1 } },
      map: { a: { b: much, c: "x" }, b: TOKEN },
    }[kind];
    expect(secrets(value)).toEqual([expect.stringMatching(/^secret-in-spec b.* holds a GitHub token \| /)]);
  });

  it("is not put together from texts that stand apart", () => {
    expect(secrets({ a: "ghp_", b: "a1B2".repeat(9) })).toEqual([]);
    expect(secrets({})).toEqual([]);
    expect(secrets(null)).toEqual([]);
    expect(secrets(7)).toEqual([]);
  });
});

describe("the argument after a flag", () => {
  it.each([
    ...[
      "--password",
      "-password",
      "--passwd",
      "--passphrase",
      "--token",
      "--secret",
      "--api-key",
      "--apikey",
    ],
    ...["--access-key", "--client-secret", "--db-password", "--API-KEY"],
  ])("%s is told", (flag) => {
    expect(secrets({ args: ["login", flag, "hunter22b"] })).toEqual([named("args[2]", "args[2]", flag)]);
  });

  it.each([
    ...["password", "---password", "--passwords", "--no-db-password", "--password=x", "--1-token", "--tok"],
    `--${"a".repeat(60)}-token`,
  ])("%s is not told", (flag) => {
    expect(secrets({ args: [flag, "hunter22b"] })).toEqual([]);
  });

  it("may be as long as sixty characters", () => {
    const longest = `--${"a".repeat(52)}-token`;
    expect(longest).toHaveLength(60);
    expect(secrets({ args: [longest, "hunter22b"] })).toEqual([named("args[1]", "args[1]", longest)]);
    expect(secrets({ args: [longest.replace("a", "aa"), "hunter22b"] })).toEqual([]);
  });

  it.each([...["hunter22", "2hunter!", "hunters1", "12345678", "a<b>c{d}1", `${"x".repeat(299)}1`]])(
    "is a value as %j",
    (value) => {
      // A digit after more than a hundred other characters is not looked for.
      const told = value.length > 100 ? [] : [named("args[1]", "args[1]", "--token")];
      expect(secrets({ args: ["--token", value] })).toEqual(told);
    },
  );

  it.each([
    ...[
      "hunter2",
      "hunterxx",
      "-hunter22",
      "$TOKEN_22",
      "<token-22>",
      "{token-22}",
      "/token-22",
      ".token-22",
      "~token-22",
    ],
    ...["tokens/22", "token 22x", `1${"x".repeat(300)}`],
  ])("stands for a value as %j", (value) => {
    expect(secrets({ args: ["--token", value] })).toEqual([]);
  });

  it("is told for what it is when its own form says it", () => {
    expect(secrets({ args: ["--token", TOKEN] })).toEqual([
      `secret-in-spec args[1] \`args[1]\` holds a GitHub token | ${FIX}`,
    ]);
  });

  it("is looked for in every list and at every place of it, numbers aside", () => {
    expect(secrets([["--token", "hunter22"], "--secret", "hunter33", "--token"])).toEqual([
      named("[2]", "[2]", "--secret"),
      named("[0][1]", "[0][1]", "--token"),
    ]);
    expect(secrets({ args: [1, "--token", 22_222_222, "--token", null] })).toEqual([]);
    expect(secrets({ "--token": "hunter22" })).toEqual([]);
  });
});
