/**
 * The memory of request bodies while they arrive, bounded in total and shared fairly: among tenants, and separately among
 * the addresses of clients that are not identified yet, so that those cannot use what tenants need.
 */
import { FairShare } from '../../fair-share.ts';
import { addressBlock } from './address.ts';

/** A part of a pool of bytes. */
export interface BodyMemory {
  readonly pool: FairShare;
  readonly owner: string;
}

/** A tenant that uses no memory can always send a body of the usual maximum size. */
const tenantPool = new FairShare({ capacity: 1_073_741_824, shareMax: 33_554_432 });
/** Enough for hundreds of the largest forms. */
const anonymousPool = new FairShare({ capacity: 67_108_864 });

/** Returns the memory for a body of this tenant or, if it is undefined, of an unidentified client at this address. */
export function bodyMemoryOf(tenantId: string | undefined, address: string): BodyMemory {
  return tenantId === undefined
    ? { pool: anonymousPool, owner: addressBlock(address) }
    : { pool: tenantPool, owner: tenantId };
}
