/**
 * Bounds the bytes of a text in NFKC, to which some tokenizers normalize their input: U+FDFA has 3 bytes, and 33 after it. The text itself is
 * not normalized, because that may take eleven times its memory.
 */

/** Half of the most bytes of a normalized character that has two code units. */
const bytesOfSurrogate = 6;
const encoder = new TextEncoder();

/** For each code unit the bytes of its character, normalized; 0 if it has not occurred yet. */
const bytesOfUnits = new Uint8Array(65_536);

export function normalizedBytes(text: string): number {
  let bytes = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    bytes += bytesOfUnits[unit] || addUnit(unit);
  }
  return bytes;
}

function addUnit(unit: number): number {
  const isSurrogate = unit >= 0xd800 && unit <= 0xdfff;
  const bytes = isSurrogate
    ? bytesOfSurrogate
    : encoder.encode(String.fromCharCode(unit).normalize('NFKC')).length;
  bytesOfUnits[unit] = bytes;
  return bytes;
}
