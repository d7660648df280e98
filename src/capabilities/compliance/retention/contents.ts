/**
 * Content of runs, for orgs that keep it: encrypted under the encryption key, so that a copy of the database does not
 * expose it. The setting is cached until a change notification arrives.
 */
import { NotifiedCache } from '../../../platform/cache/notified-cache.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { EncryptedColumn } from '../../../platform/secrets/encrypted-columns.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { findPolicy, retentionPolicyChanged } from './queries.ts';

export interface Contents {
  /** Returns whether the org keeps the content of its runs. */
  areKept(orgId: string): boolean | Promise<boolean>;
  encrypt(orgId: string, runId: string, content: string): string;
  decrypt(orgId: string, runId: string, sealed: string): string;
}

const cachedOrgsMax = 20_000;

export function createContents(db: Database, secrets: Secrets): Contents {
  const load = async (orgId: string) => ((await findPolicy(db, orgId))?.content_days ?? 0) > 0;
  const cache = new NotifiedCache(db, {
    maxEntries: cachedOrgsMax,
    onChange: retentionPolicyChanged.on,
    load,
  });
  return {
    areKept: (orgId) => cache.get(orgId),
    encrypt: (orgId, runId, content) => secrets.encrypt(content, contextOf(orgId, runId)).toString('base64'),
    decrypt: (orgId, runId, sealed) =>
      secrets.decrypt(Buffer.from(sealed, 'base64'), contextOf(orgId, runId)),
  };
}

const contextOf = (orgId: string, runId: string) => `run_content:${orgId}:${runId}`;

export const encryptedColumns: readonly EncryptedColumn[] = [
  {
    table: 'runs',
    column: 'content',
    type: 'text',
    key: { org_id: 'text', charged_at: 'timestamptz', id: 'text' },
    contextOf: ({ org_id, id }) => contextOf(org_id as string, id as string),
  },
];
