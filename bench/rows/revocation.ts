/** Time until another process rejects a key that was revoked in this one. */
import { performance } from 'node:perf_hooks';
import { median, type SingleRow } from '../measure.ts';
import { startPostgres } from '../postgres.ts';
import { type ServiceProcess, startService } from '../processes.ts';

const revocations = 30;

export const revocation: SingleRow = {
  kind: 'single',
  name: 'revocation',
  what: `PostgreSQL, two processes: from the acknowledgement of a revocation in one to its first refusal by the other, which has the key in its cache, ${revocations} times`,
  toReach: { 'slowest ms': { atMost: 1_000 } },
  async measure({ progress }) {
    const postgres = await startPostgres();
    const settings = { SVC_DATABASE_URL: await postgres.database('purser') };
    const changer = await startService({ settings });
    const observer = await startService({ settings });
    const org = await changer.post<{ id: string }>('/v1/admin/orgs', { name: 'Bench' });
    const times: number[] = [];
    for (let n = 1; n <= revocations; n += 1) {
      progress(`revocation ${n} of ${revocations}`);
      times.push(await revoke(changer, observer, org.id));
    }
    await Promise.all([changer.stop(), observer.stop()]);
    await postgres.stop();
    return { figures: { 'median ms': median(times), 'slowest ms': Math.max(...times) } };
  },
};

async function revoke(changer: ServiceProcess, observer: ServiceProcess, orgId: string): Promise<number> {
  const keys = `/v1/admin/orgs/${orgId}/keys`;
  const body = { name: 'bench', role: 'owner', scopes: ['org:read', 'keys:write'] };
  const { id, secret } = await changer.post<{ id: string; secret: string }>(keys, body);
  const read = () => observer.call('GET', `/v1/orgs/${orgId}`, undefined, secret);
  for (let n = 0; n < 3; n += 1) {
    await read();
  }
  await changer.call('DELETE', `/v1/orgs/${orgId}/keys/${id}`, undefined, secret);
  const acknowledgedMs = performance.now();
  for (;;) {
    try {
      await read();
    } catch {
      return performance.now() - acknowledgedMs;
    }
  }
}
