/** Streaming redaction: no known secret and no listed shape leaves it, however the chunks are cut. */
import { MaskStream } from "./mask-stream.ts";
import { createScanner, type SecretScanner } from "./secret-scan.ts";

export interface Redactor {
  /** Bytes that may be written now; the rest is held back until its line, or the secret in it, is complete. */
  push(chunk: Buffer): Buffer;
  /** The rest; the redactor is at its end after this. */
  flush(): Buffer;
  /** Replacements made so far. */
  readonly count: number;
}

export function createRedactor(options: { readonly values: readonly string[] }): Redactor {
  let out: Buffer[] = [];
  let count = 0;
  const stream = new MaskStream({
    scanner: scannerFor(options.values),
    emit: (piece) => {
      out.push(piece.bytes);
      if (piece.masked && piece.bytes.length > 0) count += 1;
    },
  });
  const taken = (): Buffer => {
    const bytes = out.length === 1 ? (out[0] as Buffer) : Buffer.concat(out);
    out = [];
    return bytes;
  };
  return {
    push: (chunk) => {
      stream.push(chunk);
      return taken();
    },
    flush: () => {
      stream.flush();
      return taken();
    },
    get count() {
      return count;
    },
  };
}

/** `text` with every known value and every listed shape replaced by `[REDACTED]`. */
export function redactText(text: string, values: readonly string[]): string {
  const { bytes, count } = masked(Buffer.from(text), scannerFor(values));
  return count === 0 ? text : bytes.toString();
}

/** The same for bytes, with the number of replacements. */
export function masked(bytes: Buffer, scanner: SecretScanner): { bytes: Buffer; count: number } {
  const out: Buffer[] = [];
  let count = 0;
  const stream = new MaskStream({
    scanner,
    emit: (piece) => {
      out.push(piece.bytes);
      if (piece.masked) count += 1;
    },
  });
  stream.flush(bytes);
  return { bytes: Buffer.concat(out), count };
}

/** Tables are built once for a set of values: jobs of a run share it. */
const scanners = new Map<string, SecretScanner>();
const MAX_SCANNERS = 8;

export function scannerFor(values: readonly string[]): SecretScanner {
  const key = values.join("\0");
  let scanner = scanners.get(key);
  if (scanner === undefined) {
    scanner = createScanner(values);
    if (scanners.size >= MAX_SCANNERS) scanners.clear();
    scanners.set(key, scanner);
  }
  return scanner;
}
