/**
 * Authenticates the end of each chain: an HMAC of tenant, place and hash, with a key derived from the key of all secrets. A
 * database administrator without that key who removes the last entries cannot make the chain end before them.
 *
 * An end is authenticated only if the end that it follows was: entries that are appended behind a forged end do not make it
 * genuine. Ends from before there were HMACs are authenticated once, at the first start, and never while there is any HMAC.
 */
import { timingSafeEqual } from 'node:crypto';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { createYielder } from '../../../platform/jobs/yielder.ts';
import type { Log } from '../../../platform/log.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { type ChainPlace, chainStart } from './chain.ts';
import {
  areHeadsAdopted,
  hasMacs,
  insertAdoption,
  lockHeads,
  type StoredHead,
  updateMacs,
} from './head-queries.ts';

export interface ChainHeads {
  isGenuine(tenantId: string, head: StoredHead): boolean;
  /** The HMAC of the end that follows `before`; null where `before` is not genuine. */
  macAfter(tenantId: string, before: StoredHead, next: ChainPlace): Buffer | null;
}

const headsPerRead = 500;

export async function openChainHeads(
  db: Database,
  secrets: Pick<Secrets, 'signer'>,
  log: Log,
): Promise<ChainHeads> {
  const sign = secrets.signer('audit chain head');
  const macOf = (tenantId: string, { seq, hash }: ChainPlace) => sign(`${tenantId} ${seq} ${hash}`);
  const isGenuine = (tenantId: string, head: StoredHead) => {
    if (head.mac === null) {
      return head.seq === chainStart.seq && head.hash === chainStart.hash;
    }
    const expected = macOf(tenantId, head);
    return head.mac.length === expected.length && timingSafeEqual(head.mac, expected);
  };

  async function adopt(tx: Transaction): Promise<void> {
    if (await hasMacs(tx)) {
      // Another process may have been quicker; else the record of the first start was removed, and nothing is adopted.
      if (!(await areHeadsAdopted(tx))) {
        log.error('the record that the ends of audit logs are authenticated is gone: verify the logs');
      }
      return;
    }
    // Processes that start at once wait here for the first of them.
    if (!(await insertAdoption(tx))) {
      return;
    }
    let adopted = 0;
    const yielder = createYielder();
    for (let after: string | undefined = ''; after !== undefined; ) {
      const heads = await lockHeads(tx, after, headsPerRead);
      await updateMacs(
        tx,
        heads.map(({ tenantId, ...head }) => ({ tenantId, mac: macOf(tenantId, head) })),
      );
      adopted += heads.length;
      after = heads.length === headsPerRead ? heads.at(-1)?.tenantId : undefined;
      await yielder.yieldIfDue();
    }
    if (adopted > 0) {
      log.info({ logs: adopted }, 'authenticated the ends of audit logs from before this version');
    }
  }

  if (!(await areHeadsAdopted(db))) {
    await db.transaction(adopt);
  }
  return {
    isGenuine,
    macAfter: (tenantId, before, next) => (isGenuine(tenantId, before) ? macOf(tenantId, next) : null),
  };
}
