/** Usage with very many groups: memory of the process, and latency of decisions in the meantime. */
import { exportRowsMax } from '../../src/capabilities/insight/usage/spooled-exports.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { readMigrations } from '../../src/platform/db/migrate.ts';
import { type BenchOrg, decision } from '../bench-org.ts';
import { type Downloaded, download } from '../download.ts';
import { loadOnSchedule, percentile } from '../load.ts';
import type { SingleRow } from '../measure.ts';
import { forgetPeak, residentBytes, type ServiceProcess, startService } from '../processes.ts';
import { keyIdOf, patiently, seededDirectory, seedOrgs } from '../seed.ts';

const size = { full: 100_000, small: 10_000 };
const daysPerCustomer = 3;
const perSecond = 200;
const connections = 50;

export const usageExport: SingleRow = {
  kind: 'single',
  name: 'usage-export',
  what:
    `usage of 30 days by customer, of an org with ${size.full} customers on ${daysPerCustomer} days each: as NDJSON, as CSV compared with ` +
    'the time before, as many days as fit in FOCUS columns as CSV and Parquet, and a page of it; ' +
    `edge decisions of the same org meanwhile, ${perSecond} a second in an open loop. How far ` +
    'all of it raises the peak of the process above its memory before (VmHWM above VmRSS after a collection of garbage); embedded engine',
  toReach: { 'peak MB above': { atMost: 150 }, 'slowest decision ms': { atMost: 250 } },
  shrinks: true,
  async measure({ small, progress }) {
    const customers = small ? size.small : size.full;
    progress('writing usage');
    const { dataDir, seeded } = await seededDirectory((db) => fill(db, customers));
    const { org, focus } = seeded;
    const service = await startService({ settings: { SVC_DATA_DIR: dataDir }, collectable: true });
    try {
      const usage = (query: string) => download(service, org, `/v1/orgs/${org.id}/usage${query}`);
      const days = `group_by=customer_id&from=${focus.from.toISOString()}`;
      const asked: Readonly<Record<string, { query: string; lines?: number }>> = {
        ndjson: { query: '?group_by=customer_id&format=ndjson', lines: customers },
        csv: { query: '?group_by=customer_id&format=csv&compare=previous', lines: customers + 1 },
        'FOCUS CSV': { query: `/focus?${days}&format=csv`, lines: focus.rows + 1 },
        'FOCUS Parquet': { query: `/focus?${days}&format=parquet` },
        page: { query: '?group_by=customer_id&limit=200', lines: 0 },
      };
      // Warm-up, so that one-time loading and compilation is not counted.
      await usage('?group_by=customer_id&format=csv&customer_id=customer-1');
      await usage('/focus?format=parquet&customer_id=customer-1');
      const without = await decided(service, org, async () => usage('?limit=1'));
      await service.memory();
      forgetPeak(service.pid);
      const before = residentBytes(service.pid, 'now');
      const figures: Record<string, number> = {};
      let slowest = 0;
      for (const [name, { query, lines }] of Object.entries(asked)) {
        progress(`reading as ${name}`);
        const meanwhile = await decided(service, org, () => usage(query));
        if (lines !== undefined && meanwhile.answer.lines !== lines) {
          throw new Error(`${meanwhile.answer.lines} of ${lines} lines came as ${name}`);
        }
        figures[`${name} s`] = meanwhile.answer.seconds;
        figures[`decisions p99 ms, ${name}`] = meanwhile.p99;
        slowest = Math.max(slowest, meanwhile.slowest);
      }
      return {
        figures: {
          'peak MB above': (residentBytes(service.pid, 'peak') - before) / 1_000_000,
          'slowest decision ms': slowest,
          'decisions p99 ms, without': without.p99,
          ...figures,
        },
      };
    } finally {
      await service.stop();
    }
  },
};

/** Makes decisions while another request is in flight. */
async function decided(
  { port }: ServiceProcess,
  org: BenchOrg,
  ask: () => Promise<Downloaded>,
): Promise<{ answer: Downloaded; p99: number; slowest: number }> {
  const latencies: number[] = [];
  let isOver = false;
  const decide = async () => {
    do {
      const { latenciesMs } = await loadOnSchedule({
        port,
        request: decision(org),
        perSecond,
        connections,
        seconds: 1,
      });
      latencies.push(...latenciesMs);
    } while (!isOver);
  };
  const asking = ask().finally(() => {
    isOver = true;
  });
  const [answer] = await Promise.all([asking, decide()]);
  latencies.sort((a, b) => a - b);
  return { answer, p99: percentile(latencies, 99), slowest: latencies.at(-1) ?? 0 };
}

interface Seeded {
  readonly org: BenchOrg;
  /** The last days whose rows fit into one export. */
  readonly focus: { readonly from: Date; readonly rows: number };
}

async function fill(db: Database, customers: number): Promise<Seeded> {
  const [org] = await seedOrgs(db, 1);
  if (org === undefined) {
    throw new Error('an org is needed');
  }
  await db.transaction(
    (tx) => tx.query(insertUsage, [org.id, keyIdOf(org.id), customers, daysPerCustomer]),
    patiently,
  );
  // Derives days and totals from the 15-minute buckets with the migrations that do so.
  const migrations = await readMigrations();
  for (const name of ['0006_usage_days.sql', '0017_usage_insight.sql']) {
    const sql = migrations.find((one) => one.name === name)?.sql ?? '';
    await db.transaction((tx) => tx.query(sql), patiently);
  }
  const days = await db.query<{ day: Date; rows: number }>(
    'SELECT day, count(*)::int4 AS rows FROM usage_days WHERE org_id = $1 GROUP BY day ORDER BY day DESC',
    [org.id],
  );
  let focus = { from: new Date(), rows: 0 };
  for (const { day, rows } of days) {
    if (focus.rows + rows > exportRowsMax) {
      break;
    }
    focus = { from: day, rows: focus.rows + rows };
  }
  return { org, focus };
}

/** A few runs of each customer on each of its days, with as many latencies. */
const insertUsage = `
  INSERT INTO usage_rollups (org_id, bucket, digest, key_id, model, provider, workflow, deployment, department, team,
                             customer_id, status, requests, input_tokens, cached_input_tokens, cache_write_tokens,
                             output_tokens, usd_nanos, value_nanos, latency_ms, latencies)
  SELECT $1, date_bin('15 minutes', now() - (1 + (n * 7 + d * 9) % 28) * interval '1 day' - (n % 23) * interval '1 hour', '2000-01-01T00:00:00Z'),
         'd' || n || '-' || d, $2, 'gpt-4o', 'openai', 'support', 'eu-1', 'sales', 'blue', 'customer-' || n, 'succeeded',
         5, 5000, 0, 0, 900, (1 + (n * 7919) % 100000) * 1000::int8, 0, 5000,
         decode(lpad(to_hex((60 + n % 40)), 2, '0') || '000003' || lpad(to_hex((70 + n % 30)), 2, '0') || '000002', 'hex')
    FROM generate_series(1, $3::int4) AS n CROSS JOIN generate_series(1, $4::int4) AS d`;
