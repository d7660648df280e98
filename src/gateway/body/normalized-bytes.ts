/**
 * Bounds the number of bytes of a text in NFKC, to which some tokenizers normalize their input. For example, U+FDFA has 3 bytes,
 * and 33 after normalization. The text itself is not normalized, because that may take eleven times its memory.
 */

/** Half of the maximum number of bytes of a normalized character with two code units. */
const bytesOfSurrogate = 6;
const encoder = new TextEncoder();

/** Number of bytes of each code unit's normalized character; 0 if it was not computed yet. */
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
