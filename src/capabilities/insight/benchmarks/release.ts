/**
 * The release of a week: on each read, waiting orgs enter if there are enough of them. All readers get the same
 * figures, and later usage in the week does not change them; only entering and leaving orgs do.
 */
import { apiErrorWithDetails } from '../../../contract/api-error.ts';
import { formatUsd } from '../../../kernel/money.ts';
import { calendarWindow } from '../../../kernel/windows.ts';
import type { Database, Queryable } from '../../../platform/db/database.ts';
import { type OrgUsage, sumByOrgs } from '../usage/index.ts';
import { type Block, blocksOf, type Criteria, formBlocks } from './blocks.ts';
import { viewCohort } from './cohorts.ts';
import {
  type Aggregate,
  aggregate,
  type BenchmarkFigures,
  figuresOf,
  type MetricName,
  metricNames,
  quarterOf,
} from './figures.ts';
import {
  type BlockMember,
  type CohortRow,
  countWaiting,
  findMembers,
  findWaiting,
  insertMembers,
  lockWeek,
} from './queries.ts';
import type { BenchmarkView } from './schema.ts';

const dayMs = 86_400_000;
/** Days of history in addition to the current week. */
const historyDays = 7;
/** Maximum number of orgs that enter at a time; the remaining ones enter with the next read. */
const enteringMax = 500;

interface WeeklyRelease {
  readonly week: Date;
  readonly until: Date;
  readonly since: Date;
}

function releaseAt(now: Date): WeeklyRelease {
  const { startMs, endMs } = calendarWindow('week', 'UTC', now.getTime());
  return {
    week: new Date(startMs),
    until: new Date(endMs),
    since: new Date(startMs - historyDays * dayMs),
  };
}

export async function readBenchmark(
  db: Database,
  orgId: string,
  cohort: CohortRow,
  { now, floor }: { readonly now: Date; readonly floor: number },
): Promise<BenchmarkView> {
  const release = releaseAt(now);
  const wanted = { industry: cohort.industry, sizeBand: cohort.size_band };
  await takeIn(db, release, wanted, floor);
  const members = new Map((await findMembers(db, release.week)).map((one) => [one.orgId, one]));
  const figures = (id: string) => members.get(id)?.figures ?? undefined;
  const contributes = (id: string) => figures(id) !== undefined;
  // Excludes blocks that are too small because the minimum was raised after they were formed.
  const blocks = blocksOf(blocksIn([...members.values()]), wanted, contributes).filter(
    ({ orgIds }) => orgIds.length >= floor,
  );
  if (blocks.length === 0) {
    throw apiErrorWithDetails(
      'insufficient_cohort_size',
      { minimum_cohort_size: floor },
      'Too few organizations contribute to this cohort. New participants wait until there are enough of them; if ' +
        'one leaves, the organizations grouped with it wait until next week.',
    );
  }
  const released = aggregate(
    blocks.map(({ orgIds }) => orgIds.flatMap((id) => figures(id) ?? [])),
    floor,
  );
  const own = figuresOf(await usageOf(db, orgId, release));
  return {
    ...viewCohort(cohort),
    release: {
      week: release.week.toISOString().slice(0, 10),
      from: release.since.toISOString(),
      until: release.until.toISOString(),
    },
    contributing_orgs: blocks.flatMap(({ orgIds }) => orgIds).length,
    minimum_cohort_size: floor,
    metrics: Object.fromEntries(metricNames.map((name) => [name, viewMetric(name, released, own)])),
    model_mix: released.modelMix.map((one) => ({
      ...one,
      own_share: Math.round((own?.modelShares[one.model] ?? 0) * 100) / 100,
    })),
  } as BenchmarkView;
}

/** Forms blocks of the waiting orgs that match, if there may be enough of them. */
async function takeIn(
  db: Database,
  { week, since }: WeeklyRelease,
  wanted: Criteria,
  floor: number,
): Promise<void> {
  if ((await countWaiting(db, { week, since, wanted, most: floor })) < floor) {
    return;
  }
  await db.transaction(async (tx) => {
    await lockWeek(tx, week);
    const waiting = await findWaiting(tx, { week, since, wanted, most: enteringMax });
    const usage = await sumByOrgs(
      tx,
      waiting.map(({ orgId }) => orgId),
      since,
    );
    const figures = new Map(waiting.map(({ orgId }) => [orgId, figuresOf(usage.get(orgId))]));
    const contributing = waiting.filter(({ orgId }) => figures.get(orgId) !== undefined);
    await insertMembers(tx, week, formBlocks(contributing, wanted, floor), (orgId) => figures.get(orgId));
  });
}

function blocksIn(members: readonly BlockMember[]): Block[] {
  const blocks = new Map<string, Block & { readonly orgIds: string[] }>();
  for (const { orgId, block, criteria } of members) {
    const there = blocks.get(block) ?? { ...criteria, orgIds: [] };
    there.orgIds.push(orgId);
    blocks.set(block, there);
  }
  return [...blocks.values()];
}

async function usageOf(
  db: Queryable,
  orgId: string,
  { since }: WeeklyRelease,
): Promise<OrgUsage | undefined> {
  return (await sumByOrgs(db, [orgId], since)).get(orgId);
}

function viewMetric(name: MetricName, { metrics }: Aggregate, own: BenchmarkFigures | undefined): unknown {
  const quartiles = metrics[name];
  if (quartiles === null) {
    return null;
  }
  const mine = own?.metrics[name] ?? null;
  const view = name.endsWith('_usd')
    ? (nanos: number) => formatUsd(BigInt(Math.round(nanos)))
    : (value: number) => Math.round(value * 1e6) / 1e6;
  return {
    q1: view(quartiles.q1),
    median: view(quartiles.median),
    q3: view(quartiles.q3),
    own: mine === null ? null : view(mine),
    own_quarter: mine === null ? null : quarterOf(mine, quartiles),
  };
}
