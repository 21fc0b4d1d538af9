/** The mock's output: one JSON object a line, and the ways in which a careless runtime spoils it. */

export type Line = Readonly<Record<string, unknown>> & { readonly type: `mock.${string}` };

export const emit = (line: Line): Promise<void> => send(process.stdout, `${JSON.stringify(line)}\n`);

/** Resolves when the system took the bytes, so that a flood costs no memory. Rejects when nobody reads any more. */
export function send(stream: NodeJS.WriteStream, data: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(data, (error) => (error ? reject(error) : resolve()));
  });
}

export async function flood(bytes: number): Promise<void> {
  const chunk = Buffer.alloc(65_536, "x");
  for (let left = bytes; left > 0; left -= chunk.length)
    await send(process.stdout, left < chunk.length ? chunk.subarray(0, left) : chunk);
  await send(process.stdout, "\n");
}

/** One byte at a time, so that a reader that decodes chunk by chunk breaks the text. */
export async function emitByteWise(line: Line): Promise<void> {
  for (const byte of Buffer.from(`${JSON.stringify(line)}\n`)) {
    await send(process.stdout, Uint8Array.of(byte));
    await new Promise((next) => setImmediate(next));
  }
}

export const BAD_UTF8 = Buffer.concat([
  Buffer.from("bytes: "),
  Buffer.from([0xc3, 0x28, 0xff, 0xfe]),
  Buffer.from("\n"),
]);
