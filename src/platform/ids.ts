/**
 * Ids are `<prefix>_` and 26 characters of Crockford's base 32: 48 bits of milliseconds, then 80 random bits. They sort by creation
 * time, both in the database and as text.
 */
import { randomFillSync } from 'node:crypto';
import type { IdPrefix } from '../contract/id-prefixes.ts';
import type { Clock, SharedClock } from './time/clock.ts';

export interface Ids {
  next(prefix: IdPrefix): string;
  /** Returns the time that all processes agree on, given the time of the database. */
  agreed(databaseNow: Date): Date;
}

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const randomBytesPerId = 10;

/** Random bytes. They are generated in blocks, because a system call for each id is slow. */
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
  // Overwritten for each id and converted to a string in one step. A concatenated string would stay in pieces, and hundreds of
  // thousands of ids may be in memory.
  const text = Buffer.alloc(prefixCharacters + timeCharacters + randomCharacters);
  // Many ids are created in the same millisecond, so the time is only written when it changes.
  let lastMs = Number.NaN;
  return {
    agreed: (databaseNow) => ('agreed' in clock ? clock.agreed(databaseNow) : databaseNow),
    next(prefix) {
      const nowMs = clock.now().getTime();
      if (nowMs !== lastMs) {
        lastMs = nowMs;
        writeTime(text, nowMs);
      }
      for (let i = 0; i < prefix.length; i += 1) {
        text[i] = prefix.charCodeAt(i);
      }
      text[prefix.length] = underscore;
      writeRandom(text, random(randomBytesPerId));
      return text.toString('latin1');
    },
  };
}

/** Three letters and an underscore. */
const prefixCharacters = 4;
const timeCharacters = 10;
/** Number of characters for 80 bits: every 5 bytes become 8 characters. */
const randomCharacters = 16;
/** Length of an id with its prefix. */
export const plainIdCharacters = prefixCharacters + timeCharacters + randomCharacters;
const underscore = 0x5f;
const codes = Buffer.from(alphabet);

function writeTime(text: Buffer, milliseconds: number): void {
  let rest = milliseconds;
  for (let i = timeCharacters - 1; i >= 0; i -= 1) {
    text[prefixCharacters + i] = codes[rest % 32] as number;
    rest = Math.floor(rest / 32);
  }
}

function writeRandom(text: Buffer, bytes: Uint8Array): void {
  writeBase32(text, prefixCharacters + timeCharacters, bytes);
}

function writeBase32(text: Buffer, start: number, bytes: Uint8Array): void {
  let at = start;
  let buffer = 0;
  let bits = 0;
  for (let i = 0; i < bytes.length; i += 1) {
    buffer = ((buffer << 8) | (bytes[i] as number)) & 0x1fff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text[at] = codes[(buffer >> bits) & 31] as number;
      at += 1;
    }
  }
}

/** Encodes bytes like the random part of an id. Their number must be a multiple of five. */
export function base32(bytes: Uint8Array): string {
  const text = Buffer.alloc((bytes.length / 5) * 8);
  writeBase32(text, 0, bytes);
  return text.toString('latin1');
}

/** Returns the time in an id. */
export function createdAtMsOf(id: string): number {
  let milliseconds = 0;
  for (const character of id.slice(prefixCharacters, prefixCharacters + timeCharacters)) {
    milliseconds = milliseconds * 32 + alphabet.indexOf(character);
  }
  return milliseconds;
}
