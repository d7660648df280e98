/**
 * Membership in the vocabulary of o200k, the tokenizer of current models of OpenAI. The file has the hash of each string in 32 bits,
 * made by `scripts/vocabulary-file.ts`: about one string in 20,000 that is not in the vocabulary passes as a member.
 */
import { readFileSync } from 'node:fs';

export const vocabularyFile = new URL('../../../assets/o200k-vocabulary.bin', import.meta.url);

/** The upper half of a hash selects a bucket, which lists the lower halves. */
const buckets = 65_536;

/** The hash of an empty string. */
export const hashStart = 0x811c9dc5 | 0;

/** Returns the hash of a string that is one UTF-16 code unit longer. */
export function hashStep(hash: number, codeUnit: number): number {
  const next = Math.imul(hash ^ codeUnit, 0x01000193);
  return next ^ (next >>> 15);
}

const { starts, lowerHalves } = readVocabulary();

/** Takes a hash of `hashStep`. */
export function isInVocabulary(hash: number): boolean {
  const mixed = mix(hash);
  const bucket = mixed >>> 16;
  const lowerHalf = mixed & 0xffff;
  const end = starts[bucket + 1] as number;
  for (let at = starts[bucket] as number; at < end; at += 1) {
    if (lowerHalves[at] === lowerHalf) {
      return true;
    }
  }
  return false;
}

/** Spreads the bits of a hash, which all decide about the bucket. */
function mix(hash: number): number {
  const once = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return twice ^ (twice >>> 16);
}

/** Returns the bytes of the file: the number of hashes in each bucket, then their lower halves, bucket by bucket. */
export function vocabularyBytes(strings: Iterable<string>): Buffer {
  const lists: number[][] = Array.from({ length: buckets }, () => []);
  for (const text of strings) {
    let hash = hashStart;
    for (let at = 0; at < text.length; at += 1) {
      hash = hashStep(hash, text.charCodeAt(at));
    }
    const mixed = mix(hash);
    (lists[mixed >>> 16] as number[]).push(mixed & 0xffff);
  }
  const counts = Uint8Array.from(lists, (list) => list.length);
  const halves = Uint16Array.from(lists.flatMap((list) => list.sort((a, b) => a - b)));
  return Buffer.concat([counts, new Uint8Array(halves.buffer)]);
}

function readVocabulary(): { readonly starts: Uint32Array; readonly lowerHalves: Uint16Array } {
  const bytes = readFileSync(vocabularyFile);
  const sums = new Uint32Array(buckets + 1);
  for (let bucket = 0; bucket < buckets; bucket += 1) {
    sums[bucket + 1] = (sums[bucket] as number) + (bytes[bucket] as number);
  }
  return { starts: sums, lowerHalves: new Uint16Array(Uint8Array.from(bytes.subarray(buckets)).buffer) };
}
