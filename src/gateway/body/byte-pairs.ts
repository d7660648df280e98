/**
 * Counts the tokens of a text part in the same way as o200k. A string of the vocabulary is one token. In any other string, the
 * algorithm repeatedly merges the two adjacent tokens whose joined bytes have the lowest rank in the vocabulary, until no pair is
 * in the vocabulary.
 */
import { findPair, findString, halvesOfOthers } from './vocabulary.ts';
import { hashPowers, hashStep, stringBytesMax } from './vocabulary-format.ts';

/** Maximum length of a part. Longer ones take too long to merge. */
export const partBytesMax = 1_024;

export interface CountedTokens {
  tokens: number;
  /** Number of tokens, in halves, that tokenizers with other vocabularies may need. */
  otherHalves: number;
}

/** The lowest rank of each block of this many bytes is stored, so that a merge need not search all bytes. */
const blockShift = 3;
const blockBytes = 1 << blockShift;
const noPair = 0x3fff_ffff;

/** Hash of the bytes before each position. */
const hashes = new Int32Array(partBytesMax + 1);
/**
 * Data of the token that starts at each position: its offset in the vocabulary, the rank of its pair with the next token, and the
 * starts of both neighbors.
 */
const offsets = new Int32Array(partBytesMax + 1);
const pairRanks = new Int32Array(partBytesMax + blockBytes);
const nextStarts = new Uint16Array(partBytesMax + 2);
const previousStarts = new Uint16Array(partBytesMax + 2);
const lowestOfBlocks = new Int32Array(partBytesMax / blockBytes);

const offsetsOfBytes = Int32Array.from({ length: 256 }, (_, byte) =>
  findString(Uint8Array.of(byte), 0, 1, hashStep(0, byte)),
);

/** Adds the tokens of the bytes from `start` to `end`. The length is at most `partBytesMax`. */
export function addTokens(counts: CountedTokens, bytes: Uint8Array, start: number, end: number): void {
  const length = end - start;
  if (length === 1) {
    counts.tokens += 1;
    counts.otherHalves += 2;
    return;
  }
  let hash = 0;
  for (let at = 0; at < length; at += 1) {
    hash = hashStep(hash, bytes[start + at] as number);
    hashes[at + 1] = hash;
  }
  const offset = length <= stringBytesMax ? findString(bytes, start, end, hash) : 0;
  if (offset !== 0) {
    counts.tokens += 1;
    counts.otherHalves += halvesOfOthers(offset);
    return;
  }
  mergePairs(bytes, start, length);
  for (let at = 0; at < length; at = nextStarts[at] as number) {
    counts.tokens += 1;
    counts.otherHalves += halvesOfOthers(offsets[at] as number);
  }
}

function mergePairs(bytes: Uint8Array, start: number, length: number): void {
  const blocks = ((length - 1) >> blockShift) + 1;
  for (let at = 0; at < length; at += 1) {
    offsets[at] = offsetsOfBytes[bytes[start + at] as number] as number;
    nextStarts[at] = at + 1;
    previousStarts[at + 1] = at;
    pairRanks[at] = at + 1 < length ? rankOf(bytes, start, at, at + 2) : noPair;
  }
  pairRanks.fill(noPair, length, blocks << blockShift);
  for (let block = 0; block < blocks; block += 1) {
    updateBlock(block);
  }
  for (;;) {
    let lowest = noPair;
    let block = 0;
    for (let candidate = 0; candidate < blocks; candidate += 1) {
      const rank = lowestOfBlocks[candidate] as number;
      if (rank < lowest) {
        lowest = rank;
        block = candidate;
      }
    }
    if (lowest === noPair) {
      return;
    }
    let at = block << blockShift;
    while (pairRanks[at] !== lowest) {
      at += 1;
    }
    mergeAt(bytes, start, length, at);
  }
}

/** Merges the token at this position with the next one. */
function mergeAt(bytes: Uint8Array, start: number, length: number, at: number): void {
  const joined = nextStarts[at] as number;
  const next = nextStarts[joined] as number;
  offsets[at] = pairRanks[at] as number;
  nextStarts[at] = next;
  previousStarts[next] = at;
  if (at > 0) {
    const previous = previousStarts[at] as number;
    setRank(previous, rankOf(bytes, start, previous, next));
  }
  setRank(joined, noPair);
  setRank(at, next < length ? rankOf(bytes, start, at, nextStarts[next] as number) : noPair);
}

function setRank(at: number, rank: number): void {
  const block = at >> blockShift;
  const lowest = lowestOfBlocks[block] as number;
  const before = pairRanks[at];
  pairRanks[at] = rank;
  if (rank < lowest) {
    lowestOfBlocks[block] = rank;
  } else if (before === lowest) {
    updateBlock(block);
  }
}

function updateBlock(block: number): void {
  const first = block << blockShift;
  let lowest = noPair;
  for (let at = first; at < first + blockBytes; at += 1) {
    const rank = pairRanks[at] as number;
    if (rank < lowest) {
      lowest = rank;
    }
  }
  lowestOfBlocks[block] = lowest;
}

/** Returns the rank of a string. The offset serves as the rank, because strings are stored in rank order. */
function rankOf(bytes: Uint8Array, start: number, from: number, to: number): number {
  const length = to - from;
  if (length === 2) {
    return findPair(bytes[start + from] as number, bytes[start + from + 1] as number) || noPair;
  }
  if (length > stringBytesMax) {
    return noPair;
  }
  const before = Math.imul(hashes[from] as number, hashPowers[length] as number);
  return findString(bytes, start + from, start + to, ((hashes[to] as number) - before) | 0) || noPair;
}
