/**
 * Ids are `<prefix>_` and 26 characters of Crockford's base 32: 48 bits of milliseconds, then 80 random bits.
 * They sort by the time they were made, in the database and by eye.
 */
import { randomFillSync } from 'node:crypto';
import type { Clock, SharedClock } from './clock.ts';

export type IdPrefix =
  | 'org'
  | 'key'
  | 'evt'
  | 'aud'
  | 'chk'
  | 'ret'
  | 'ers'
  | 'prc'
  | 'bud'
  | 'cap'
  | 'clm'
  | 'crp'
  | 'ppd'
  | 'top'
  | 'pln'
  | 'plm'
  | 'chn'
  | 'rlp'
  | 'dec'
  | 'run'
  | 'ent'
  | 'adj'
  | 'whk'
  | 'dlv'
  | 'det'
  | 'pol'
  | 'apr'
  | 'rfl'
  | 'ses'
  | 'mem'
  | 'evl'
  | 'coh'
  | 'scn'
  | 'sgr'
  | 'sse'
  | 'sac';

export interface Ids {
  next(prefix: IdPrefix): string;
  /** What time it is where processes have to agree, given what the database says. */
  agreed(databaseNow: Date): Date;
}

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const randomBytesPerId = 10;

/** Drawn in blocks, because asking the kernel for each id is slow. */
const pool = Buffer.alloc(randomBytesPerId * 400);
let used = pool.length;

function pooledBytes(size: number): Uint8Array {
  if (used + size > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += size;
  return pool.subarray(used - size, used);
}

export function createIds(
  clock: Clock | SharedClock,
  random: (size: number) => Uint8Array = pooledBytes,
): Ids {
  // Many ids are made in the same millisecond.
  let lastMs = Number.NaN;
  let lastTime: readonly number[] = [];
  return {
    agreed: (databaseNow) => ('agreed' in clock ? clock.agreed(databaseNow) : databaseNow),
    next(prefix) {
      const nowMs = clock.now().getTime();
      if (nowMs !== lastMs) {
        lastMs = nowMs;
        lastTime = encodeTime(nowMs);
      }
      // In one step: text that grows is kept in pieces, and ids are kept by the hundred thousand.
      return String.fromCharCode(
        ...prefixCodes(prefix),
        ...lastTime,
        ...encodeRandom(random(randomBytesPerId)),
      );
    },
  };
}

const codes = Array.from(alphabet, (character) => character.charCodeAt(0));
const prefixes = new Map<IdPrefix, readonly number[]>();

function prefixCodes(prefix: IdPrefix): readonly number[] {
  let known = prefixes.get(prefix);
  if (known === undefined) {
    known = Array.from(`${prefix}_`, (character) => character.charCodeAt(0));
    prefixes.set(prefix, known);
  }
  return known;
}

function encodeTime(milliseconds: number): number[] {
  let rest = milliseconds;
  const text: number[] = [];
  for (let i = 0; i < 10; i += 1) {
    text.unshift(codes[rest % 32] as number);
    rest = Math.floor(rest / 32);
  }
  return text;
}

/** 80 bits are exactly 16 characters: each 5 bytes make 8. */
function encodeRandom(bytes: Uint8Array): number[] {
  const text: number[] = [];
  let buffer = 0;
  let bits = 0;
  for (let i = 0; i < bytes.length; i += 1) {
    buffer = ((buffer << 8) | (bytes[i] as number)) & 0x1fff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text.push(codes[(buffer >> bits) & 31] as number);
    }
  }
  return text;
}
