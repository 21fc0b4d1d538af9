import { describe, expect, it } from "vitest";
import type { CommandResult } from "../../src/cli/context.ts";
import { excerpts } from "../../src/cli/excerpt.ts";
import {
  createPrinter,
  OUTPUT_LIMITS,
  type Printer,
  renderDiagnostics,
  toDocument,
  visible,
} from "../../src/cli/output.ts";
import type { Diagnostic, NextAction } from "../../src/core/diagnostic.ts";
import { validate } from "../../src/core/generated/output.validate.js";

const result = (part: Partial<CommandResult> = {}): CommandResult => ({
  exitCode: 0,
  data: { a: 1 },
  text: "done",
  diagnostics: [],
  next: [],
  ...part,
});

const action = (n: number): NextAction => ({
  id: `a${n}`,
  action: "dispatch_native",
  jobId: `job-${n}`,
  reason: "ready",
  argv: ["native", "start"],
  shell: "node /x native start",
});

/** A printer whose output is kept; it closes stdout after `readable` bytes. */
function capture(options: { json: boolean; tty?: boolean; readable?: number }): {
  printer: Printer;
  out: () => string;
  error: () => string;
} {
  const texts = { stdout: "", stderr: "" };
  const printer = createPrinter({
    json: options.json,
    stderrIsTty: options.tty ?? false,
    sink: {
      write(stream, text) {
        texts[stream] += text;
        return texts.stdout.length <= (options.readable ?? Number.POSITIVE_INFINITY);
      },
    },
  });
  return { printer, out: () => texts.stdout, error: () => texts.stderr };
}

describe("with --json", () => {
  it("prints exactly one document, which its schema takes", () => {
    const { printer, out, error } = capture({ json: true });
    printer.progress("working");
    printer.result("status", result({ next: [action(1)] }));
    const document = JSON.parse(out());
    expect(out().split("\n")).toHaveLength(2);
    expect(validate(document)).toBe(true);
    expect(document).toEqual({
      schemaVersion: 1,
      command: "status",
      ok: true,
      exitCode: 0,
      data: { a: 1 },
      diagnostics: [],
      next: [action(1)],
    });
    expect(error()).toBe("working\n");
  });

  it("lists at most ten actions and counts the rest", () => {
    const next = Array.from({ length: 23 }, (_, n) => action(n));
    const document = toDocument("next", result({ next }));
    expect(document.next).toHaveLength(10);
    expect(document.nextOmitted).toBe(13);
    expect(validate(document)).toBe(true);
  });

  it("keeps the worst findings within the limit and counts what it leaves out", () => {
    const diagnostics: Diagnostic[] = Array.from({ length: OUTPUT_LIMITS.diagnosticsJson + 5 }, (_, n) => ({
      severity: n === OUTPUT_LIMITS.diagnosticsJson + 4 ? "error" : "info",
      code: `c${n}`,
      message: "m",
    }));
    const document = toDocument("validate", result({ diagnostics, exitCode: 2 }));
    expect(document.diagnostics).toHaveLength(OUTPUT_LIMITS.diagnosticsJson + 1);
    expect(document.diagnostics[0]?.severity).toBe("error");
    expect(document.diagnostics.at(-1)).toEqual({
      severity: "info",
      code: "diagnostics-omitted",
      message: "5 more findings are not shown",
    });
    expect(document.ok).toBe(false);
  });

  it("prints only lines when the command streams", () => {
    const { printer, out } = capture({ json: true });
    printer.jsonLine({ seq: 1 });
    printer.jsonLine({ seq: 2 });
    printer.result("watch", result());
    expect(out()).toBe('{"seq":1}\n{"seq":2}\n');
  });
});

describe("for people", () => {
  it("prints text and actions on stdout, findings with place and fix on stderr", () => {
    const { printer, out, error } = capture({ json: false });
    printer.result(
      "run",
      result({
        exitCode: 2,
        next: [{ ...action(1), choices: [{ label: "deny", argv: ["deny"], shell: "node /x deny" }] }],
        diagnostics: [
          {
            severity: "error",
            code: "unknown-key",
            message: "`promt` is no field of a job",
            path: "jobs[0].promt",
            file: "jobs.yaml",
            line: 4,
            column: 5,
            fix: "did you mean `prompt`?",
            related: [{ message: "first used here", line: 2 }],
          },
        ],
      }),
    );
    expect(out()).toBe(
      "done\nnext (1):\n  dispatch_native job-1: ready\n    node /x native start\n    deny: node /x deny\n",
    );
    expect(error()).toBe(
      "jobs.yaml:4:5: error[unknown-key]: `promt` is no field of a job (jobs[0].promt)\n    see line 2: first used here\n    fix: did you mean `prompt`?\n",
    );
  });

  it("shows the line that a finding is about, marks the place and hides secrets", () => {
    const token = `ghp_${"a1B2".repeat(9)}`;
    const source = `version: 1\n\tname: x\nprompt: "use ${token} here"\npassword: hunter2\n`;
    const at = (line: number, column: number, code = "c"): Diagnostic => ({
      severity: "error",
      code,
      message: "m",
      file: "jobs.yaml",
      line,
      column,
    });
    const found = [at(1, 1), at(2, 2), at(3, 9), at(4, 11, "secret-in-spec"), at(4, 1), at(9, 1)];
    const shown = renderDiagnostics(
      found,
      excerpts(found, () => source),
    );
    expect(shown).not.toContain(token);
    expect(shown).not.toContain("hunter2");
    expect(shown).toBe(
      [
        "jobs.yaml:1:1: error[c]: m",
        "    1 | version: 1",
        "        ^",
        "jobs.yaml:2:2: error[c]: m",
        "    2 |  name: x",
        "         ^",
        "jobs.yaml:3:9: error[c]: m",
        '    3 | prompt: "use [a GitHub token] here"',
        "jobs.yaml:4:11: error[secret-in-spec]: m",
        "jobs.yaml:4:1: error[c]: m",
        "jobs.yaml:9:1: error[c]: m",
        "",
      ].join("\n"),
    );
  });

  it("rewrites the progress line on a terminal and ends it before anything else is printed", () => {
    const { printer, error } = capture({ json: false, tty: true });
    printer.progress("1 of 2");
    printer.progress("2 of 2");
    printer.result("run", result());
    expect(error()).toBe("1 of 2\r\u001b[2K2 of 2\r\u001b[2K");
  });

  it("shows control characters of other parties instead of sending them to the terminal", () => {
    expect(visible("a\u001b[31mred\u0007\u202eb\u0085")).toBe("a\\u001b[31mred\\u0007\\u202eb\\u0085");
    expect(visible("rm\u200b x\ufeff \u{e0041}")).toBe("rm\\u200b x\\ufeff \\u{e0041}");
    expect(visible("é 漢 \u{1f469}\u200d\u{1f467}")).toBe("é 漢 \u{1f469}\u200d\u{1f467}");
    expect(visible("tab\tand – ünïcode stay")).toBe("tab\tand – ünïcode stay");
  });

  it("stops writing when the reader is gone", () => {
    const { printer, out } = capture({ json: false, readable: 3 });
    printer.line("one");
    expect(printer.closed).toBe(true);
    printer.line("two");
    expect(out()).toBe("one\n");
  });
});
