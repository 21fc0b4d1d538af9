/** Cuts a stream into lines, with a bound on what one line may hold in memory. */
import { SUPERVISION } from "../core/policy.ts";

const NEWLINE = 0x0a;
const BRACE = 0x7b;
const LINE_THEN_BRACE = Buffer.from("\n{");

interface LineSink {
  /** A whole line without its line end. */
  readonly line: (bytes: Buffer) => void;
  readonly maxBytes?: number;
}

export class LineSplitter {
  readonly #sink: LineSink;
  readonly #max: number;
  #parts: Buffer[] = [];
  #length = 0;
  #dropped = 0;

  constructor(sink: LineSink) {
    this.#sink = sink;
    this.#max = sink.maxBytes ?? SUPERVISION.eventLineMaxBytes;
  }

  /** Lines that were longer than the bound. */
  get dropped(): number {
    return this.#dropped;
  }

  /** No line is begun, or the one that is will be dropped: nothing is lost by stopping here. */
  get idle(): boolean {
    return this.#length === 0 || this.#length > this.#max;
  }

  /** Whether the begun line is one to be dropped. */
  get overlong(): boolean {
    return this.#length > this.#max;
  }

  push(bytes: Buffer): void {
    let from = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
      this.#add(bytes.subarray(from, end));
      this.#finish();
      from = end + 1;
    }
    if (from < bytes.length) this.#add(bytes.subarray(from));
  }

  /** Delivers a last line that has no line end. */
  flush(): void {
    if (this.#length > 0) this.#finish();
  }

  #add(part: Buffer): void {
    this.#length += part.length;
    if (this.#length > this.#max) this.#parts = [];
    else if (part.length > 0) this.#parts.push(part);
  }

  #finish(): void {
    if (this.#length > this.#max) this.#dropped += 1;
    else {
      const line = this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts);
      this.#sink.line(line.at(-1) === 0x0d ? line.subarray(0, -1) : line);
    }
    this.#parts = [];
    this.#length = 0;
  }
}

/**
 * Finds only lines that begin with `{`, at the speed of a native search: for the part of an output that is counted and
 * dropped, in which a runtime's event must still be seen.
 */
export class StructuredLines {
  readonly #splitter: LineSplitter;
  #inside = false;
  #atLineStart: boolean;

  constructor(options: LineSink & { atLineStart: boolean }) {
    this.#splitter = new LineSplitter(options);
    this.#atLineStart = options.atLineStart;
  }

  get dropped(): number {
    return this.#splitter.dropped;
  }

  push(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      if (!this.#inside) {
        const start = this.#nextStart(bytes, at);
        if (start < 0) break;
        this.#inside = true;
        at = start;
      }
      const end = bytes.indexOf(NEWLINE, at);
      this.#splitter.push(end < 0 ? bytes.subarray(at) : bytes.subarray(at, end + 1));
      if (end < 0) return;
      this.#inside = false;
      this.#atLineStart = true;
      at = end + 1;
    }
    if (!this.#inside && bytes.length > 0) this.#atLineStart = bytes.at(-1) === NEWLINE;
  }

  flush(): void {
    this.#splitter.flush();
  }

  #nextStart(bytes: Buffer, at: number): number {
    if (this.#atLineStart && bytes[at] === BRACE) return at;
    this.#atLineStart = false;
    const found = bytes.indexOf(LINE_THEN_BRACE, at);
    return found < 0 ? -1 : found + 1;
  }
}
