/** Fits free text and lists into a byte budget: everyone gets an even share, and what one leaves the others use. */

export interface ElasticPiece {
  /** What it is, for the list of omissions. */
  readonly label: string;
  readonly value: string | readonly unknown[];
  /** Where the whole of it is, or null. */
  readonly path: string | null;
}

interface FittedPiece {
  readonly value: string | readonly unknown[];
  /** A sentence when something was cut, else null. */
  readonly omission: string | null;
}

/** Bytes of the value as JSON, which is how it travels in the bundle. */
export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Same order as given; the results' JSON together takes at most `budget` bytes (plus two for each empty value). */
export function fitPieces(pieces: readonly ElasticPiece[], budget: number): FittedPiece[] {
  const sizes = pieces.map((piece) => jsonBytes(piece.value));
  const share = evenShare(sizes, budget);
  return pieces.map((piece, index) =>
    piece.value.length === 0 || (sizes[index] ?? 0) <= share
      ? { value: piece.value, omission: null }
      : cut(piece, share),
  );
}

/** The largest share at which all pieces, each cut to it, fit the budget. */
function evenShare(sizes: readonly number[], budget: number): number {
  const ascending = [...sizes].sort((a, b) => a - b);
  let left = Math.max(0, budget);
  for (const [index, size] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - index));
    if (size > share) return share;
    left -= size;
  }
  return Number.POSITIVE_INFINITY;
}

function cut(piece: ElasticPiece, bytes: number): FittedPiece {
  const where = piece.path === null ? "" : `; whole at \`${piece.path}\``;
  if (typeof piece.value !== "string") {
    const kept = headOfList(piece.value, bytes);
    return {
      value: kept,
      omission: `${piece.label}: ${kept.length} of ${piece.value.length} entries${where}`,
    };
  }
  const value = cutText(piece.value, bytes);
  return {
    value,
    omission: `${piece.label}: cut to ${Buffer.byteLength(value)} of ${Buffer.byteLength(piece.value)} bytes${where}`,
  };
}

function headOfList(list: readonly unknown[], bytes: number): unknown[] {
  const kept: unknown[] = [];
  let used = 2;
  for (const item of list) {
    used += jsonBytes(item) + 1;
    if (used > bytes) break;
    kept.push(item);
  }
  return kept;
}

const CUT_MARK = "\n[… cut …]\n";

/** Keeps two thirds of the room for the head and one for the tail: conclusions stand at the end. */
export function cutText(text: string, bytes: number): string {
  if (jsonBytes(text) <= bytes) return text;
  const room = bytes - jsonBytes(CUT_MARK);
  if (room < 32) return "";
  const head = prefix(text, Math.floor((room * 2) / 3));
  const tail = suffix(text.slice(head.length), room - jsonBytes(head));
  return `${head}${CUT_MARK}${tail}`;
}

/** The longest prefix whose JSON form, without quotes, takes at most `bytes`; never splits a surrogate pair. */
function prefix(text: string, bytes: number): string {
  let low = 0;
  let high = Math.min(text.length, bytes);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (jsonBytes(text.slice(0, middle)) - 2 <= bytes) low = middle;
    else high = middle - 1;
  }
  return text.slice(0, low).replace(/[\ud800-\udbff]$/, "");
}

function suffix(text: string, bytes: number): string {
  let low = 0;
  let high = Math.min(text.length, bytes);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (jsonBytes(text.slice(text.length - middle)) - 2 <= bytes) low = middle;
    else high = middle - 1;
  }
  return text.slice(text.length - low).replace(/^[\udc00-\udfff]/, "");
}
