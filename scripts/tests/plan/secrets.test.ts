import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { SECRET_PATTERNS } from "../../src/core/secret-patterns.ts";
import { type FoundSecret, findSecrets, hideSecrets } from "../../src/plan/secrets.ts";
import { FAKES } from "../support/fake-secrets.ts";
import { PROPERTY } from "../support/property.ts";

describe("secrets in a text", () => {
  it("are found with what they are and where", () => {
    const token = FAKES["github-token"] ?? "";
    expect(findSecrets(`use ${token} now`)).toEqual([
      { kind: "github-token", title: "a GitHub token", index: 4, length: token.length },
    ]);
  });

  it("are called by the first name of the table that fits when several fit the same text", () => {
    const value = FAKES["github-token"] ?? "";
    const found = {
      kind: "secret-variable",
      title: "a value assigned to a secret-named variable",
      index: 3,
      length: "PASSWORD=".length + value.length,
    };
    expect(findSecrets(`DB_PASSWORD=${value}`)).toEqual([found]);
    expect(findSecrets(`DB_PASSWORD: ${value}`)).toEqual([
      {
        ...found,
        kind: "secret-assignment",
        title: "a value assigned to a secret name",
        length: found.length + 1,
      },
    ]);
    expect(hideSecrets(`DB_PASSWORD=${value} x`)).toBe("DB_[a value assigned to a secret-named variable] x");
  });

  it("are hidden in a text of any length, with all that is around them", () => {
    const key = FAKES["npm-token"] ?? "";
    for (const length of [1_998, 1_999, 2_000, 2_001, 5_000]) {
      const around = "a line\n".repeat(1_000).slice(0, length - key.length - 2);
      expect(hideSecrets(`${around} ${key}\n`)).toBe(`${around} [an npm token]\n`);
    }
  });

  it.each(Object.entries(FAKES))("%s is found behind any other text and hidden whole", (_id, value) => {
    const text = `line one\n  "key": ${value}\nline three`;
    expect(findSecrets(text).length).toBeGreaterThan(0);
    const secret = value.split(/[\s:=?&@"]+/).sort((a, b) => b.length - a.length)[0] ?? "";
    expect(hideSecrets(text)).not.toContain(secret);
  });

  it("are told apart when several follow each other", () => {
    const text = `${FAKES["aws-access-key-id"]} ${FAKES["npm-token"]} ${FAKES["aws-access-key-id"]}`;
    expect(findSecrets(text).map((secret) => secret.kind)).toEqual([
      "aws-access-key-id",
      "npm-token",
      "aws-access-key-id",
    ]);
    expect(hideSecrets(text)).toBe("[an AWS access key id] [an npm token] [an AWS access key id]");
  });

  it("are hidden without moving the lines after them", () => {
    const text = `one\n${FAKES["private-key"]}\nafter`;
    expect(hideSecrets(text)).toBe("one\n[a private-key block]\n\n\n\nafter");
    expect(hideSecrets(text).split("\n").indexOf("after")).toBe(text.split("\n").indexOf("after"));
  });

  it("are found after the escapes that JSON, URLs and terminals put before them", () => {
    const key = FAKES["openai-key"] ?? "";
    for (const before of ["\\n", "%3D", "\u001b[31m", "=", '"', "("])
      expect(findSecrets(before + key).map((secret) => secret.kind)).toContain("openai-key");
  });

  it("are found by anchors wherever a pattern alone would find them", () =>
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 12 }), (pieces) => {
        const text = pieces.join("");
        const hidden = hideSecrets(text);
        for (const entry of SECRET_PATTERNS) {
          const match = new RegExp(entry.pattern.source, entry.pattern.flags).exec(text);
          if (match !== null) expect(hidden).not.toBe(text);
        }
      }),
      PROPERTY,
    ));

  it("number none in ten megabytes of an ordinary build log", () => {
    const log = buildLog(2_000_000);
    const found = Array.from({ length: 5 }, (_, round) => findSecrets(log.slice(round * 7)));
    expect(found.flat()).toEqual([]);
  });
});

describe("the first question of a process", () => {
  /** The module as it is before anybody asked. */
  const fresh = async () => {
    vi.resetModules();
    return import("../../src/plan/secrets.ts");
  };
  const all = Object.values(FAKES).join("\n and ");

  it("is answered as by trying every pattern at every place, and the next ones too", async () => {
    const { findSecrets: find, hideSecrets: hide } = await fresh();
    for (const text of [all, all]) {
      expect(find(text)).toEqual(bySlowSearch(text));
      expect(hide(text)).toBe(
        [...bySlowSearch(text)].reverse().reduce((shown, { index, length, title }) => {
          const ends = "\n".repeat(shown.slice(index, index + length).split("\n").length - 1);
          return `${shown.slice(0, index)}[${title}]${ends}${shown.slice(index + length)}`;
        }, text),
      );
    }
  });

  it("whether a text could hold one is yes for each beginning of one, and no for other text", async () => {
    const { holdsAnchor, findSecrets: find, hideSecrets: hide } = await fresh();
    for (const anchor of SECRET_PATTERNS.flatMap((entry) => entry.anchors))
      expect([anchor, holdsAnchor(`x${anchor}`)]).toEqual([anchor, true]);
    for (const text of ["", "an ordinary line", "PASS 12 tests"])
      expect([holdsAnchor(text), find(text), hide(text)]).toEqual([false, [], text]);
  });
});

/** What is found by trying all patterns wherever one of their anchors stands: the longest at each place. */
function bySlowSearch(text: string): FoundSecret[] {
  const found = [];
  for (let index = 0; index < text.length; ) {
    const here = SECRET_PATTERNS.flatMap(({ id, title, anchors, pattern }) => {
      if (!anchors.some((anchor) => text.startsWith(anchor, index))) return [];
      const sticky = new RegExp(pattern.source, `${pattern.flags.replace("g", "")}y`);
      sticky.lastIndex = index;
      const match = sticky.exec(text);
      return match === null ? [] : [{ kind: id, title, index, length: match[0].length }];
    }).sort((a, b) => b.length - a.length)[0];
    if (here !== undefined) found.push(here);
    index += here?.length ?? 1;
  }
  return found;
}

const piece = fc.oneof(
  fc.constantFrom(...Object.values(FAKES)),
  fc.constantFrom(...SECRET_PATTERNS.flatMap((entry) => entry.anchors)),
  fc.string({ maxLength: 12 }),
  fc.constantFrom(" ", "\n", "=", ": ", '"', "-", "_", "\\n"),
);

/** Lines of compilers, test runners and version control, with hashes and numbers that differ. */
function buildLog(size: number): string {
  let seed = 7;
  const random = (): number => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return seed;
  };
  const sha = (length: number): string => {
    let text = "";
    while (text.length < length) text += random().toString(16).padStart(8, "0");
    return text.slice(0, length);
  };
  const lines: (() => string)[] = [
    () => `  CC src/core/scheduler_${random() % 999}.o`,
    () => `info: compiled ${random() % 999} modules in ${random() % 60}.2s (cache hit ${random() % 100}%)`,
    () => `PASS tests/unit/plan.test.ts (${random() % 99} tests, 0 failed, ${random() % 999} ms)`,
    () => `at Object.<anonymous> (/srv/app/src/index.ts:${random() % 999}:17)`,
    () => `index ${sha(10)}..${sha(10)} 100644`,
    () => `commit ${sha(40)}`,
    () => `GET https://example.invalid/v1/items?page=${random() % 99}&sort=key 200 12ms`,
    () =>
      `{"type":"event","seq":${random()},"job":"build-api","status":"running","pid":${random() % 65_536}}`,
    () => `layer sha256:${sha(64)} pulled`,
    () => `request ${sha(8)}-${sha(4)}-${sha(4)}-${sha(4)}-${sha(12)} finished`,
  ];
  let text = "";
  while (text.length < size) text += `${lines[random() % lines.length]!()}\n`;
  return text;
}
