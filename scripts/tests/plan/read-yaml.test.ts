import { describe, expect, it } from "vitest";
import { readDocument } from "../../src/plan/read-yaml.ts";

const read = (text: string | Uint8Array, fileName = "x.yaml") =>
  readDocument(text, { fileName, format: "auto" });
const codes = (text: string | Uint8Array, fileName?: string): string[] =>
  read(text, fileName).diagnostics.map((d) => `${d.line}:${d.column} ${d.code}`);

describe("plain YAML", () => {
  it("is read by the 1.2 core schema, and nothing is coerced", () => {
    const text =
      'a: no\nb: yes\nc: on\nd: 1:30\ne: 1_000\nf: 1.10\ng: "1.10"\nh: 2026-01-01\ni: ~\nj: true\nk: 0\nl:\n';
    expect(read(text).value).toEqual({
      a: "no",
      b: "yes",
      c: "on",
      d: "1:30",
      e: "1_000",
      f: 1.1,
      g: "1.10",
      h: "2026-01-01",
      i: null,
      j: true,
      k: 0,
      l: null,
    });
    expect(read(text).plainSource(["f"])).toBe("1.10");
    expect(read(text).plainSource(["g"])).toBeNull();
  });

  it("may begin with a byte order mark, end lines with CRLF and hold NEL in text", () => {
    const document = read("\ufeffa: 1\r\nb: |\r\n  one\r\n  two\r\nc: 'x\u0085y'\r\n");
    expect(document.diagnostics).toEqual([]);
    expect(document.value).toEqual({ a: 1, b: "one\ntwo\n", c: "x\u0085y" });
    expect(document.locate(["c"])).toEqual({ line: 5, column: 4 });
  });

  it("may hold tabs inside text", () => {
    const document = read('a: "x\ty"\nb: |\n  all:\n  \tmake\n');
    expect(document.diagnostics).toEqual([]);
    expect(document.value).toEqual({ a: "x\ty", b: "all:\n\tmake\n" });
  });

  it("may have one document between its markers", () => {
    expect(read("---\na: 1\n...\n").value).toEqual({ a: 1 });
    expect(read("---\na: 1\n...\n").diagnostics).toEqual([]);
  });

  it("keeps keys that objects have by themselves as plain data", () => {
    const { value } = read("constructor: 1\ntoString: 2\nhasOwnProperty: 3\n");
    expect(Object.entries(value as object)).toEqual([
      ["constructor", 1],
      ["toString", 2],
      ["hasOwnProperty", 3],
    ]);
  });
});

describe("hostile YAML", () => {
  it.each<[string, string | Uint8Array, string[]]>([
    ["a second document", "a: 1\n---\nb: 2\n", ["2:1 several-documents"]],
    ["a document after an end", "a: 1\n...\nb: 2\n", ["3:1 several-documents"]],
    ["an anchor and an alias", "a: &x [1]\nb: *x\n", ["1:4 yaml-anchor", "2:4 yaml-alias"]],
    ["a glob without quotes", "a: [*.ts]\n", ["1:5 yaml-alias"]],
    ["a tag", "a: !!js/function x\n", ["1:4 yaml-tag"]],
    ["a binary tag", "a: !!binary aaaa\n", ["1:4 yaml-tag"]],
    ["an older version", "%YAML 1.1\n---\na: no\n", ["1:1 yaml-directive"]],
    ["a merge key", "a:\n  <<: {b: 1}\n", ["2:3 merge-key"]],
    ["a key that is a list", "? [a]\n: b\n", ["1:3 non-scalar-key"]],
    ["a key that is a map", "{a: b}: c\n", ["1:1 non-scalar-key"]],
    ["a prototype", "a:\n  __proto__: {x: 1}\n", ["2:3 forbidden-key"]],
    ["the same key twice", "a: 1\nb: 2\na: 3\n", ["3:1 duplicate-key"]],
    ["the same key thrice", "a: 1\na: 2\na: 3\n", ["2:1 duplicate-key", "3:1 duplicate-key"]],
    ["tabs as indentation", "a:\n\tb: 1\n", ["2:1 tab-character"]],
    ["a tab after a colon", "a:\tb\n", ["1:3 tab-character"]],
    ["NUL", "a: x\0y\n", ["1:5 nul-character"]],
    ["NUL by an escape", 'a: "x\\0y"\n', ["1:4 nul-character"]],
    [
      "a mark of the lexer's own",
      "a: \u0002\u001f\u0018\n",
      ["1:4 control-character", "1:5 control-character", "1:6 control-character"],
    ],
    ["half of a surrogate pair", 'a: "\\ud800"\n', ["1:4 not-unicode"]],
    ["an octal number", "a: 0o17\n", ["1:4 number-form"]],
    ["a hexadecimal number", "a: 0x1F\n", ["1:4 number-form"]],
    ["a number with leading zeros", "a: 007\n", ["1:4 number-form"]],
    ["an exponent", "a: 1e3\n", ["1:4 number-form"]],
    ["infinity", "a: .inf\nb: 1e999\n", ["1:4 number-form", "2:4 number-form"]],
    ["UTF-16", new Uint8Array([0xff, 0xfe, 0x61, 0x00]), ["1:1 not-utf8"]],
    ["a cut character", new Uint8Array([0x61, 0x3a, 0x20, 0xe2, 0x82]), ["1:4 not-utf8"]],
    ["an overlong character", new Uint8Array([0x61, 0x0a, 0xc0, 0x80]), ["2:1 not-utf8"]],
    ["half a pair in bytes", new Uint8Array([0xed, 0xa0, 0x80]), ["1:1 not-utf8"]],
    ["nothing", "", ["1:1 empty-document"]],
    ["comments only", "# a\n", ["1:1 empty-document"]],
    ["an open quote", "a: 'x\n", ["2:1 yaml-syntax"]],
    ["a closing bracket alone", "a: ]\n", ["1:4 yaml-syntax"]],
    ["text after text", "a: b: c\n", ["1:4 yaml-syntax"]],
    [
      "several faults in one pass",
      "a: &x 1\nb: !t 2\nc: @d\n",
      ["1:4 yaml-anchor", "2:4 yaml-tag", "3:4 yaml-syntax"],
    ],
  ])("%s is refused where it stands", (_name, text, expected) => expect(codes(text)).toEqual(expected));

  it("is read to a depth of twenty and no further", () => {
    const nested = (depth: number) => `a: ${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}\n`;
    expect(codes(nested(20))).toEqual([]);
    expect(codes(nested(21))).toEqual(["1:23 too-deep"]);
    expect(codes(`${"- ".repeat(5_000)}a\n`)).toEqual(["1:41 too-deep"]);
    expect(codes("? ".repeat(5_000))).toEqual(["1:41 too-deep"]);
    expect(codes(`a: ${"{b: ".repeat(100_000)}`)).toEqual(["1:80 too-deep"]);
  });

  it("is read up to one mebibyte and no further", () => {
    const filled = (size: number) => `a: ${"x".repeat(size - 4)}\n`;
    expect(codes(filled(1_048_576))).toEqual([]);
    expect(codes(filled(1_048_577))).toEqual(["1:1 too-large"]);
    expect(codes(`a: ${"é".repeat(524_287)}\n`)).toEqual(["1:1 too-large"]);
  });

  it("expands nothing: a bomb of aliases is a list of refusals", () => {
    let bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n";
    for (let level = 1; level < 9; level += 1)
      bomb += `a${level}: &a${level} [${Array(9)
        .fill(`*a${level - 1}`)
        .join(",")}]\n`;
    const found = read(bomb).diagnostics;
    expect(new Set(found.map((d) => d.code))).toEqual(new Set(["yaml-anchor", "yaml-alias"]));
  });

  it("ends after a hundred faults of reading", () => {
    for (const text of [
      `a: [${",".repeat(20_000)}`,
      "]\n".repeat(5_000),
      "- &a b\n".repeat(5_000),
      `a: "${"\\q".repeat(5_000)}"`,
    ])
      expect(read(text).diagnostics.length).toBeLessThanOrEqual(110);
  });

  it("leaves the prototype of objects alone", () => {
    read("__proto__: {polluted: 1}\nconstructor: {prototype: {polluted: 1}}\n");
    read('{"__proto__": {"polluted": 1}}', "x.json");
    expect(Object.keys({})).toEqual([]);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});

describe("JSON", () => {
  it("is chosen by the file's name, or by its first character", () => {
    expect(read('{"a": 1}', "x.json").format).toBe("json");
    expect(read(' {"a": 1}', "x").format).toBe("json");
    expect(read("{a: 1}", "x.yaml").format).toBe("yaml");
    expect(read("a: 1", "x").format).toBe("yaml");
  });

  it.each<[string, string, string[]]>([
    ["a key twice", '{"a": 1,\n "a": 2}', ["2:2 duplicate-key"]],
    ["a key twice by an escape", '{"a": 1, "\\u0061": 2}', ["1:10 duplicate-key"]],
    ["a key twice in a job", '{"jobs": [{"id": "a"}, {"id": "b", "id": "c"}]}', ["1:36 duplicate-key"]],
    ["a prototype", '{"__proto__": {}}', ["1:2 forbidden-key"]],
    ["a prototype by an escape", '{"\\u005f_proto__": {}}', ["1:2 forbidden-key"]],
    ["a comment", '{"a": 1} // x', ["1:10 json-comment"]],
    ["a block comment", '/* x */ {"a": 1}', ["1:1 json-comment"]],
    ["a comma after the last entry", '{"a": [1, 2,]}', ["1:12 json-trailing-comma"]],
    ["a missing comma", '{"a": 1 "b": 2}', ["1:9 json-syntax"]],
    ["single quotes", "{'a': 1}", ["1:2 json-syntax"]],
    ["text after the value", '{"a": 1} x', ["1:10 json-syntax"]],
    ["an open string", '{"a": "x', ["1:7 json-syntax"]],
    ["an open list", '{"a": [1', ["1:9 json-syntax"]],
    ["a raw line end in text", '{"a": "x\ny"}', ["1:7 json-syntax", "2:1 json-syntax"]],
    ["NUL", '{"a": "x\\u0000"}', ["1:7 nul-character"]],
    ["half a pair", '{"a": ["ok", "\\ud800"]}', ["1:14 not-unicode"]],
    ["nothing", "", ["1:1 empty-document"]],
    ["null", "null", ["1:1 empty-document"]],
    ["brackets without end", "[".repeat(50_000), ["1:21 too-deep"]],
    ["brackets that do not match", "[}".repeat(50_000), ["1:41 too-deep"]],
  ])("with %s is refused where it stands", (_name, text, expected) =>
    expect(codes(text, "x.json")).toEqual(expected),
  );

  it("keeps pairs of surrogates and brackets inside text", () => {
    const text = '{"a": "\\ud83d\\ude00 [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[ \\" {", "b": {"c": ":"}}';
    expect(codes(text, "x.json")).toEqual([]);
    expect(read(text, "x.json").value).toEqual({ a: `😀 ${"[".repeat(30)} " {`, b: { c: ":" } });
  });

  it("is read up to sixteen mebibytes and no further", () => {
    const filled = (size: number) => `{"a":"${"x".repeat(size - 8)}"}`;
    expect(codes(filled(16_777_216), "x.json")).toEqual([]);
    expect(codes(filled(16_777_217), "x.json")).toEqual(["1:1 too-large"]);
  });
});

describe("places", () => {
  const yaml = "name: x\njobs:\n  - id: a\n    deps: [b, c]\n  -\n    id: b\n    empty:\n";
  const json =
    '{"name": "x",\n "jobs": [\n {"id": "a", "deps": ["b", "c"]},\n {"id": "b", "empty": null}\n]}';

  it("are those of values, of keys, or of the nearest thing there is", () => {
    const { locate } = read(yaml);
    expect(locate([])).toEqual({ line: 1, column: 1 });
    expect(locate(["name"])).toEqual({ line: 1, column: 7 });
    expect(locate(["name"], "key")).toEqual({ line: 1, column: 1 });
    expect(locate(["jobs", 0, "deps", 1])).toEqual({ line: 4, column: 15 });
    expect(locate(["jobs", 1])).toEqual({ line: 6, column: 5 });
    expect(locate(["jobs", 1, "empty"])).toEqual({ line: 7, column: 5 });
    expect(locate(["jobs", 1, "absent"])).toEqual({ line: 6, column: 5 });
    expect(locate(["jobs", 9, "id"])).toEqual({ line: 3, column: 3 });
  });

  it("are found in JSON too, one job at a time", () => {
    const { locate } = read(json, "x.json");
    expect(locate([])).toEqual({ line: 1, column: 1 });
    expect(locate(["name"])).toEqual({ line: 1, column: 10 });
    expect(locate(["jobs"])).toEqual({ line: 2, column: 10 });
    expect(locate(["jobs", 0, "deps", 1])).toEqual({ line: 3, column: 28 });
    expect(locate(["jobs", 1, "id"])).toEqual({ line: 4, column: 9 });
    expect(locate(["jobs", 1, "id"], "key")).toEqual({ line: 4, column: 3 });
    expect(locate(["jobs", 1, "absent"])).toEqual({ line: 4, column: 2 });
  });

  it("stay right however many are asked for", () => {
    const lines = Array.from({ length: 200 }, (_, index) => `k${index}: v`);
    const { locate } = read(lines.join("\n"));
    for (const [index] of lines.entries())
      expect(locate([`k${index}`], "key")).toEqual({ line: index + 1, column: 1 });
  });
});
