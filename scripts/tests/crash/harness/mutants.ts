/** The built tool with a bug planted in it: each is a mistake that somebody could make, and a rule must find it. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BuiltPayload } from "../../support/built-tool.ts";

export interface Mutant {
  readonly name: string;
  /** Text of the bundle → what stands there instead. */
  readonly edits: Readonly<Record<string, string>>;
}

export const MUTANTS = {
  unsynced: {
    name: "does not sync the state before it gets its name",
    edits: { "await this.disk.sync(fd);": "" },
  },
  inPlace: {
    name: "writes over state.json",
    edits: {
      "this.disk.rename(this.temp, this.statePath);": `{
        const bytes = this.disk.read(this.temp);
        this.disk.remove(this.statePath);
        const target = this.disk.openNew(this.statePath);
        this.disk.write(target, bytes);
        this.disk.close(target);
        this.disk.remove(this.temp);
      }`,
    },
  },
  late: {
    name: "says that a step is durable and writes it later",
    edits: {
      "return next.done;": "return Promise.resolve();",
      "ports.nextTurn(flush);": "setTimeout(flush, 3_000);",
    },
  },
  swallows: {
    name: "goes on after a write that failed",
    edits: { "batch.reject(failed);": "failed = null; batch.resolve();" },
  },
  lockless: {
    name: "takes the lock of a living owner",
    edits: { 'case "alive":': 'case "alive": return null;' },
  },
  forgetsOrphans: {
    name: "does not look for what an earlier coordinator left running",
    edits: {
      "async function endOrphan(s, attempt) {": "async function endOrphan(s, attempt) { return true;",
    },
  },
  keepsTornTail: {
    name: "writes behind a torn line",
    edits: { "return enqueue(records, repairs.length > 0);": "return enqueue(records, false);" },
  },
  forgetsLastRecord: {
    name: "reads all lines of the journal but the last",
    edits: {
      "for (const line of lines) {\n    const refuse = ":
        "for (const line of lines.slice(0, -1)) {\n    const refuse = ",
    },
  },
} as const satisfies Record<string, Mutant>;

/** A copy of the built tool with the bug in it. Throws when its place is not there exactly once. */
export function plant(built: BuiltPayload, mutant: Mutant): { main: string; remove(): void } {
  const top = mkdtempSync(join(tmpdir(), "orchestrate-mutant-"));
  cpSync(built.skill, top, { recursive: true });
  const chunks = join(top, "scripts/chunks");
  const files = readdirSync(chunks).map((name) => join(chunks, name));
  for (const [from, to] of Object.entries(mutant.edits)) {
    const places = files.filter((file) => readFileSync(file, "utf8").includes(from));
    const text = places[0] === undefined ? "" : readFileSync(places[0], "utf8");
    if (places.length !== 1 || text.split(from).length !== 2)
      throw new Error(`the mutant "${mutant.name}" has lost its place: ${from}`);
    writeFileSync(
      places[0] as string,
      text.replace(from, () => to),
    );
  }
  return {
    main: join(top, "scripts/orchestrate.mjs"),
    remove: () => rmSync(top, { recursive: true, force: true }),
  };
}
