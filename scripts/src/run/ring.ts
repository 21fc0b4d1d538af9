/** The last bytes of a stream, in one buffer of fixed size. */
export class Ring {
  readonly #capacity: number;
  #buffer: Buffer;
  /** Raw position of the first byte ever pushed. */
  readonly #origin: number;
  #pushed = 0;

  constructor(options: { capacity: number; origin: number }) {
    this.#capacity = options.capacity;
    this.#origin = options.origin;
    this.#buffer = Buffer.allocUnsafe(Math.min(options.capacity, 65_536));
  }

  push(chunk: Buffer): void {
    const bytes = chunk.length > this.#capacity ? chunk.subarray(chunk.length - this.#capacity) : chunk;
    this.#grow(Math.min(this.#capacity, this.#pushed + chunk.length));
    let at = (this.#pushed + chunk.length - bytes.length) % this.#capacity;
    for (let from = 0; from < bytes.length; ) {
      const length = Math.min(bytes.length - from, this.#capacity - at);
      bytes.copy(this.#buffer, at, from, from + length);
      from += length;
      at = (at + length) % this.#capacity;
    }
    this.#pushed += chunk.length;
  }

  /** Position of the oldest byte still here. */
  get start(): number {
    return this.#origin + Math.max(0, this.#pushed - this.#capacity);
  }

  /** Everything still here from position `start` on, oldest first. */
  from(start: number): Buffer {
    const end = this.#origin + this.#pushed;
    const first = (Math.max(start, this.start) - this.#origin) % this.#capacity;
    const length = end - Math.max(start, this.start);
    const head = this.#buffer.subarray(first, Math.min(first + length, this.#capacity));
    return Buffer.concat([head, this.#buffer.subarray(0, length - head.length)]);
  }

  /** Small outputs get small buffers; until the capacity is reached positions do not wrap, so growing is a copy. */
  #grow(needed: number): void {
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.min(this.#capacity, Math.max(needed, this.#buffer.length * 2)));
    this.#buffer.copy(larger);
    this.#buffer = larger;
  }
}
