/**
 * The content of runs, where an org keeps it: encrypted with the key of all secrets, so that a copy of the database does not
 * show what people said. The policy that decides whether it is kept is cached.
 */
import { NotifiedCache } from '../../../platform/cache/notified-cache.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { onPolicyChange } from './change-notifications.ts';
import { findPolicy } from './queries.ts';

export interface Contents {
  /** Whether the org keeps what its runs say. */
  areKept(orgId: string): boolean | Promise<boolean>;
  seal(orgId: string, runId: string, content: string): string;
  open(orgId: string, runId: string, sealed: string): string;
}

const cachedOrgsMax = 20_000;

export function createContents(db: Database, secrets: Secrets): Contents {
  const load = async (orgId: string) => ((await findPolicy(db, orgId))?.content_days ?? 0) > 0;
  const cache = new NotifiedCache(db, { maxEntries: cachedOrgsMax, onChange: onPolicyChange, load });
  const contextOf = (orgId: string, runId: string) => `run_content:${orgId}:${runId}`;
  return {
    areKept: (orgId) => cache.get(orgId),
    seal: (orgId, runId, content) => secrets.seal(content, contextOf(orgId, runId)).toString('base64'),
    open: (orgId, runId, sealed) => secrets.open(Buffer.from(sealed, 'base64'), contextOf(orgId, runId)),
  };
}
