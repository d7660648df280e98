/**
 * Bounds the concurrent lookups of tokens, so that unknown tokens cannot fill the queue for a database connection. Clients are not
 * identified yet, so their addresses take turns.
 */
import { FairQueue } from '../../../platform/fair-queue.ts';
import { addressBlock } from '../../../platform/http/message/address.ts';

const bounds = { concurrency: 64, waitingMax: 2_000, waitMsMax: 3_000 };
/** Stands for clients whose connection is closed and has no address. An empty name would mean work of the service itself. */
const unknownAddress = 'unknown';

export interface TokenLookups {
  run<Result>(address: string, load: () => Promise<Result>): Promise<Result>;
}

export function createTokenLookups(): TokenLookups {
  const queue = new FairQueue({ resource: 'the database', ...bounds });
  return { run: (address, load) => queue.run(addressBlock(address) || unknownAddress, load) };
}
