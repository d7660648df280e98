/**
 * The memory of request bodies, while they arrive and while they are processed. It is bounded in total and shared fairly among
 * tenants. Clients that are not identified yet have a separate pool, shared by address, so that they cannot use up the memory of
 * tenants.
 */
import { getHeapStatistics } from 'node:v8';
import { FairShare } from '../../fair-share.ts';
import { addressBlock } from './address.ts';

/** A pool of bytes, and the owner that takes from it. */
export interface BodyMemory {
  readonly pool: FairShare;
  readonly owner: string;
}

/** The other half of the heap is for everything else. */
const halfOfHeap = Math.floor(getHeapStatistics().heap_size_limit / 2);
/** The last tenth is reserved. Each tenant can use 32 MiB of it; less if the heap is small or several tenants use the pool. */
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

/** Returns the memory for bodies of this tenant that have arrived, and for values parsed from them. */
export function workMemoryOf(tenantId: string): BodyMemory {
  return { pool: workPool, owner: tenantId };
}

/** A variable amount of memory. */
export class HeldMemory {
  readonly #memory: BodyMemory;
  #bytes = 0;

  constructor(memory: BodyMemory) {
    this.#memory = memory;
  }

  /** Changes the amount. Returns false and changes nothing if there is no room. */
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
