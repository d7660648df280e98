/**
 * The memory of request bodies while they arrive, and of those that are in work, bounded in total and shared fairly: among tenants, and separately among
 * the addresses of clients that are not identified yet, so that those cannot use what tenants need.
 */
import { getHeapStatistics } from 'node:v8';
import { FairShare } from '../../fair-share.ts';
import { addressBlock } from './address.ts';

/** A part of a pool of bytes. */
export interface BodyMemory {
  readonly pool: FairShare;
  readonly owner: string;
}

/** The rest of the heap is for all else. */
const halfOfHeap = Math.floor(getHeapStatistics().heap_size_limit / 2);
/** Each tenant can use 32 MiB of the last tenth, which is reserved; less if the heap is small or several tenants use the pool. */
const tenantPool = new FairShare({ capacity: Math.min(1_073_741_824, halfOfHeap), shareMax: 33_554_432 });
const workPool = new FairShare({ capacity: halfOfHeap, shareMax: 67_108_864 });
/** Enough for hundreds of the largest forms. */
const anonymousPool = new FairShare({ capacity: 67_108_864 });

/** Returns the memory for a body of this tenant or, if it is undefined, of an unidentified client at this address. */
export function bodyMemoryOf(tenantId: string | undefined, address: string): BodyMemory {
  return tenantId === undefined
    ? { pool: anonymousPool, owner: addressBlock(address) }
    : { pool: tenantPool, owner: tenantId };
}

/** Returns the memory for bodies of this tenant that have arrived, and for what is made of them. */
export function workMemoryOf(tenantId: string): BodyMemory {
  return { pool: workPool, owner: tenantId };
}

/** An amount of memory that changes. */
export class HeldMemory {
  readonly #memory: BodyMemory;
  #bytes = 0;

  constructor(memory: BodyMemory) {
    this.#memory = memory;
  }

  /** Returns false, and changes nothing, if there is no room for more. */
  resize(bytes: number): boolean {
    const { pool, owner } = this.#memory;
    const more = bytes - this.#bytes;
    if (more > 0 && !pool.tryTake(owner, more)) {
      return false;
    }
    if (more < 0) {
      pool.release(owner, -more);
    }
    this.#bytes = bytes;
    return true;
  }
}
