/**
 * Authenticates the head (the end) of each chain with an HMAC of tenant, position and hash, under a key derived from
 * the encryption key. A database administrator without that key cannot truncate the chain unnoticed.
 *
 * A head is authenticated only if the head before it was: appending entries to a forged head does not make it genuine.
 * Heads from before HMACs existed are authenticated once, at the first start, and never if any HMAC exists.
 */
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { createYielder } from '../../../platform/jobs/yielder.ts';
import type { Log } from '../../../platform/log.ts';
import type { ReencryptedBatch } from '../../../platform/secrets/encrypted-columns.ts';
import type { Authenticator, Secrets } from '../../../platform/secrets/secrets.ts';
import { type ChainPosition, chainStart } from './chain.ts';
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
  /** HMAC of the head that follows `before`; null if `before` is not genuine. */
  macAfter(tenantId: string, before: StoredHead, next: ChainPosition): Buffer | null;
}

const headsPerRead = 500;

function headAuthenticator(secrets: Pick<Secrets, 'authenticator'>): Authenticator {
  return secrets.authenticator('audit chain head');
}

function authenticatedText(tenantId: string, { seq, hash }: ChainPosition): string {
  return `${tenantId} ${seq} ${hash}`;
}

export async function openChainHeads(
  db: Database,
  secrets: Pick<Secrets, 'authenticator'>,
  log: Log,
): Promise<ChainHeads> {
  const { sign, verify } = headAuthenticator(secrets);
  const macOf = (tenantId: string, head: ChainPosition) => sign(authenticatedText(tenantId, head));
  const isGenuine = (tenantId: string, head: StoredHead) => {
    if (head.mac === null) {
      return head.seq === chainStart.seq && head.hash === chainStart.hash;
    }
    return verify(authenticatedText(tenantId, head), head.mac);
  };

  async function adopt(tx: Transaction): Promise<void> {
    if (await hasMacs(tx)) {
      // Another process may have adopted the heads. Otherwise the record of the first start was deleted, and no head is adopted.
      if (!(await areHeadsAdopted(tx))) {
        log.error(
          'audit chain heads are authenticated but the record of it is missing; verify the audit logs',
        );
      }
      return;
    }
    // Processes that start at the same time wait here for the first one.
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
      log.info({ logs: adopted }, 'authenticated audit chain heads of an earlier version');
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

/**
 * Authenticates up to `limit` heads after a tenant again, with the current key. Heads that are not genuine under any of the keys
 * stay unchanged.
 */
export async function authenticateHeadsAgain(
  db: Database,
  secrets: Pick<Secrets, 'authenticator'>,
  after: string | undefined,
  limit: number,
): Promise<ReencryptedBatch> {
  const { sign, verify } = headAuthenticator(secrets);
  return db.transaction(async (tx) => {
    const heads = await lockHeads(tx, after ?? '', limit);
    const changed: { tenantId: string; mac: Buffer }[] = [];
    let unreadable = 0;
    for (const { tenantId, mac: stored, ...head } of heads) {
      const text = authenticatedText(tenantId, head);
      const mac = sign(text);
      if (stored !== null && !verify(text, stored)) {
        unreadable += 1;
      } else if (stored !== null && !mac.equals(stored)) {
        changed.push({ tenantId, mac });
      }
    }
    await updateMacs(tx, changed);
    const last = heads.length === limit ? heads.at(-1)?.tenantId : undefined;
    const next = last === undefined ? undefined : [last];
    return { seen: heads.length, reencrypted: changed.length, unreadable, next };
  });
}
