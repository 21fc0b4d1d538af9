/** Reading a child's two streams: held until somebody is ready, drained for a moment after the exit, never waited for. */
import type { Readable } from "node:stream";
import { SUPERVISION } from "../core/policy.ts";

interface ChildOutputOptions {
  readonly streams: readonly { readonly stream: Readable; readonly sink: (chunk: Buffer) => void }[];
  readonly onActivity: () => void;
}

export class ChildOutput {
  readonly #o: ChildOutputOptions;
  #ready = false;
  #held: { sink: (chunk: Buffer) => void; chunk: Buffer }[] = [];
  #open: number;
  #touch: () => void = () => {};
  #allClosed: () => void = () => {};

  constructor(options: ChildOutputOptions) {
    this.#o = options;
    this.#open = options.streams.length;
    for (const { stream, sink } of options.streams) {
      // Listening at once: node lets a stream without a listener run empty when the child exits.
      stream.on("data", (chunk: Buffer) => this.#take(stream, sink, chunk));
      stream.on("error", () => {});
      stream.on("close", () => {
        this.#open -= 1;
        if (this.#open === 0) this.#allClosed();
      });
    }
  }

  /** Stops the streams, and with them the child once its pipe is full, until `release`. */
  hold(): void {
    for (const { stream } of this.#o.streams) stream.pause();
  }

  release(): void {
    this.#ready = true;
    for (const { sink, chunk } of this.#held) sink(chunk);
    this.#held = [];
    for (const { stream } of this.#o.streams) stream.resume();
  }

  /**
   * After the exit: true when both streams came to their end; false when 200 ms brought nothing (2 s in all) and
   * somebody still holds a pipe.
   */
  drained(): Promise<boolean> {
    if (this.#open === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      let quiet: NodeJS.Timeout | undefined;
      const finish = (closed: boolean): void => {
        clearTimeout(quiet);
        clearTimeout(whole);
        this.#touch = () => {};
        this.#allClosed = () => {};
        resolve(closed);
      };
      const arm = (): void => {
        clearTimeout(quiet);
        const timer = setTimeout(
          () => lookOnce(() => (quiet === timer ? finish(false) : undefined)),
          SUPERVISION.drainMs,
        );
        quiet = timer;
      };
      const whole = setTimeout(() => finish(false), SUPERVISION.drainMaxMs);
      this.#touch = arm;
      this.#allClosed = () => finish(true);
      arm();
    });
  }

  destroy(): void {
    for (const { stream } of this.#o.streams) stream.destroy();
  }

  #take(stream: Readable, sink: (chunk: Buffer) => void, chunk: Buffer): void {
    this.#o.onActivity();
    this.#touch();
    if (this.#ready) {
      sink(chunk);
      return;
    }
    this.#held.push({ sink, chunk });
    stream.pause();
  }
}

/** After a turn that took long, timers come before what has arrived meanwhile: that is looked at first. */
function lookOnce(then: () => void): void {
  setImmediate(() => setImmediate(then));
}
