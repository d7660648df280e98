/** Export of the audit log: speed, and that memory does not grow with its size. */
import { performance } from 'node:perf_hooks';
import { appendDated } from '../../src/capabilities/compliance/audit/audit.ts';
import type { DatedDraft } from '../../src/capabilities/compliance/audit/chain.ts';
import { openChainHeads } from '../../src/capabilities/compliance/audit/chain-heads.ts';
import { lockChain } from '../../src/capabilities/compliance/audit/head-queries.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { createLog } from '../../src/platform/log.ts';
import { createSecrets } from '../../src/platform/secrets/secrets.ts';
import type { BenchOrg } from '../bench-org.ts';
import { type Downloaded, download } from '../download.ts';
import type { RowOptions, SingleRow } from '../measure.ts';
import { forgetPeak, residentBytes, type ServiceProcess, secretsKey, startService } from '../processes.ts';
import { seededDirectory, seedOrgs } from '../seed.ts';

const size = { full: 1_000_000, small: 30_000 };
const entriesPerTransaction = 2_000;
const days = 60;

export const auditExport: SingleRow = {
  kind: 'single',
  name: 'audit-export',
  what:
    `an export of ${size.full} audit entries in each format, one after the other, and how far all of them raise the peak of the ` +
    'process above its memory before (VmHWM above VmRSS after a collection of garbage); embedded engine. `verify` reads the ' +
    'same entries',
  toReach: { 'peak MB above': { atMost: 150 } },
  shrinks: true,
  async measure({ small, progress }) {
    const entries = small ? size.small : size.full;
    const { dataDir, seeded: org } = await seededDirectory((db) => fill(db, entries, progress));
    const service = await startService({ settings: { SVC_DATA_DIR: dataDir }, collectable: true });
    try {
      // Warm-up, so that one-time loading and compilation is not counted.
      await exported(service, org, 'ndjson', 1);
      await service.memory();
      forgetPeak(service.pid);
      const before = residentBytes(service.pid, 'now');
      const figures: Record<string, number> = {};
      for (const format of ['ndjson', 'cef', 'ocsf']) {
        progress(`exporting as ${format}`);
        const { lines, bytes, seconds } = await exported(service, org, format, days);
        if (lines !== entries) {
          throw new Error(`${lines} of ${entries} entries came as ${format}`);
        }
        figures[`${format} entries/s`] = lines / seconds;
        figures[`${format} MB/s`] = bytes / seconds / 1_000_000;
      }
      figures['peak MB above'] = (residentBytes(service.pid, 'peak') - before) / 1_000_000;
      progress('verifying');
      const startedMs = performance.now();
      const { valid } = await service.call<{ valid: boolean }>(
        'GET',
        `/v1/orgs/${org.id}/audit-log/verify`,
        undefined,
        org.key,
      );
      figures['verified entries/s'] = (entries * 1_000) / (performance.now() - startedMs);
      if (!valid) {
        throw new Error('the log is not valid');
      }
      return { figures };
    } finally {
      await service.stop();
    }
  },
};

async function fill(db: Database, entries: number, progress: RowOptions['progress']): Promise<BenchOrg> {
  // The end of the log is authenticated with the key of the service, so that the log is valid.
  const secrets = createSecrets([Buffer.from(secretsKey, 'base64')]);
  const heads = await openChainHeads(db, secrets, createLog('silent'));
  const [org] = await seedOrgs(db, 1);
  if (org === undefined) {
    throw new Error('an org is needed');
  }
  const beginMs = Date.now() - (days - 1) * 86_400_000;
  for (let from = 0; from < entries; from += entriesPerTransaction) {
    if (from % 50_000 === 0) {
      progress(`writing entries: ${from} of ${entries}`);
    }
    const drafts = Array.from({ length: Math.min(entriesPerTransaction, entries - from) }, (_, n) =>
      draftOf(from + n, new Date(beginMs + ((from + n) / entries) * (days - 2) * 86_400_000)),
    );
    await db.transaction(async (tx) => appendDated(tx, heads, org.id, await lockChain(tx, org.id), drafts));
  }
  return org;
}

function draftOf(n: number, at: Date): DatedDraft {
  const budget = { id: `bud_${n % 500}`, name: 'Support', period: 'month', limit_usd: String(n % 900) };
  return {
    id: `aud_${String(n).padStart(26, '0')}`,
    at: at.toISOString(),
    actorKind: 'key',
    actorId: `key_${n % 40}`,
    // A log that does not start with it was cut off.
    action: n === 0 ? 'orgs.create' : 'budgets.change',
    outcome: n % 20 === 0 ? 'denied' : 'success',
    code: n % 20 === 0 ? 'forbidden' : null,
    targetKind: 'budget',
    targetId: budget.id,
    before: budget,
    after: { ...budget, limit_usd: String((n + 1) % 900) },
    detail: null,
    address: '203.0.113.7',
    traceId: n.toString(16).padStart(32, '0'),
  };
}

function exported(
  service: ServiceProcess,
  org: BenchOrg,
  format: string,
  daysAgo: number,
): Promise<Downloaded> {
  const from = new Date(Date.now() - daysAgo * 86_400_000).toISOString();
  const to = new Date().toISOString();
  return download(service, org, `/v1/orgs/${org.id}/audit-log/export?from=${from}&to=${to}&format=${format}`);
}
