/** The Node that runs this, as `[major, minor]`. */
export function nodeVersion(): readonly [number, number] {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  return [major, minor];
}
