/** Trace ids: 128 random bits in hex. Generated in blocks, because a system call per request is slow. */
import { randomFillSync } from 'node:crypto';

const pool = Buffer.alloc(16 * 256);
let used = pool.length;

export function newTraceId(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += 16;
  return pool.toString('hex', used - 16, used);
}
