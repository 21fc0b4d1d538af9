/** The corpus that is one run of the mock runtime: variants of each kind, with texts that follow from a seed. */
import { BAD } from "./bad.ts";
import { GOOD } from "./good.ts";
import { type CorpusCase, type Kind, out, say, sha256, write, writer } from "./kind.ts";

/** The base of the last kind: rejected by the arbiter, so that nothing above it may be accepted. */
const BASE: CorpusCase = {
  id: "rejected-base",
  kind: "work that is wrong in substance",
  good: false,
  by: "arbiter-rejected",
  verdict: "fail",
  job: writer("rejected-base", [write(out("rejected-base"), "base\n"), say("Done.")]),
};

/** How many pieces of each kind. */
export interface Variants {
  readonly good: number;
  readonly bad: number;
}

export function corpus(o: Variants & { readonly seed: number }): CorpusCase[] {
  const made = (kinds: readonly Kind[], good: boolean): CorpusCase[] =>
    kinds.flatMap(({ kind, by, make }, at) =>
      Array.from({ length: good ? o.good : o.bad }, (_, n) => {
        const id = `${good ? "good" : "bad"}-${at + 1}-${n + 1}`;
        const text = `content ${sha256(`${o.seed} ${id}`).slice(0, 12)}\n`;
        return { id, kind, good, by, ...make({ id, n, text }) };
      }),
    );
  return [...made(GOOD, true), BASE, ...made(BAD, false)];
}
