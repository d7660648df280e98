/** The figures of a weekly digest, from the capabilities that own them. */
import type { UsageDimension } from '../../../contract/run-dimensions.ts';
import { kindOfCode } from '../../../kernel/cost-parts.ts';
import { formatUsd } from '../../../kernel/money.ts';
import type { LedgerReads } from '../../../ledger/ledger.ts';
import type { Database } from '../../../platform/db/database.ts';
import { findKeysExpiring } from '../../access/keys/index.ts';
import { sumRefusals } from '../../governance/refusals/index.ts';
import { listUnpricedModels } from '../../spend/unpriced-models/index.ts';
import { listLimitUsage } from '../ledger/index.ts';
import { sumUsage, type UsageGroup } from '../usage/index.ts';
import type { DueDigest } from './schedule.ts';

export interface FigureDependencies {
  readonly db: Database;
  readonly ledger: Pick<LedgerReads, 'limitUsage'>;
}

const topGroups = 5;
const listedMax = 10;
const limitsExaminedMax = 200;
const blockedCodesMax = 5;
const expiringWithinMs = 14 * 86_400_000;

export async function digestFigures(
  deps: FigureDependencies,
  org: { readonly id: string; readonly timezone: string },
  due: DueDigest,
  now: Date,
): Promise<object> {
  const { db } = deps;
  const { week } = due;
  const models = await usageBy(deps, org.id, 'model', due, now);
  const customers = await usageBy(deps, org.id, 'customer_id', due, now);
  const kinds = await usageBy(deps, org.id, 'kind', due, now);
  const blocked = await sumRefusals(db, org.id, new Date(week.fromMs), new Date(week.toMs));
  const unpriced = await listUnpricedModels(db, org.id, {
    used_since: new Date(week.fromMs).toISOString(),
    limit: listedMax,
  });
  const keys = await findKeysExpiring(db, org.id, now, new Date(now.getTime() + expiringWithinMs), listedMax);
  return {
    week_start: week.start,
    week_end: week.end,
    timezone: org.timezone,
    spend_usd: formatUsd(BigInt(models.total.usd_nanos)),
    previous_spend_usd: formatUsd(BigInt(models.total.previous?.usd_nanos ?? 0)),
    runs: Number(models.total.runs),
    previous_runs: Number(models.total.previous?.runs ?? 0),
    top_customers: topOf(customers.groups).map(({ name, ...spend }) => ({ customer_id: name, ...spend })),
    top_models: topOf(models.groups).map(({ name, ...spend }) => ({ model: name, ...spend })),
    top_kinds: topOf(kinds.groups).map(({ name, ...spend }) => ({ kind: kindOfCode(name), ...spend })),
    cache_savings_usd: formatUsd(BigInt(models.total.cache_savings_nanos)),
    limits_near: await limitsNear(deps, org.id),
    blocked_requests: blocked.reduce((sum, { requests }) => sum + requests, 0),
    blocked_by: blocked.slice(0, blockedCodesMax),
    unpriced_models: unpriced.data.map(({ model, runs }) => ({ model, runs: Number(runs) })),
    expiring_keys: keys.map(({ id, name, expires_at }) => ({
      key_id: id,
      name,
      expires_at: expires_at.toISOString(),
    })),
  };
}

function usageBy(
  { db }: FigureDependencies,
  orgId: string,
  name: UsageDimension | 'kind',
  { week, weekBefore }: DueDigest,
  now: Date,
) {
  const groupBy = [name === 'kind' ? ({ kind: 'part', name } as const) : ({ kind: 'field', name } as const)];
  return sumUsage(db, {
    orgId,
    now,
    filters: {},
    range: week,
    groupBy,
    before: { range: weekBefore, groupBy },
    after: undefined,
    // One more: the group of runs without a customer is not listed.
    limit: topGroups + 1,
  });
}

function topOf(groups: readonly UsageGroup[]) {
  return groups
    .filter(({ values }) => values[0] !== '')
    .slice(0, topGroups)
    .map(({ values, usd_nanos, previous }) => ({
      name: values[0] ?? '',
      usd: formatUsd(BigInt(usd_nanos)),
      previous_usd: formatUsd(BigInt(previous?.usd_nanos ?? 0)),
    }));
}

/** The fullest limits, as they are now. */
async function limitsNear(deps: FigureDependencies, orgId: string): Promise<object[]> {
  const states = ['exhausted', 'near'] as const;
  const pages = await Promise.all(
    states.map((state) => listLimitUsage(deps, orgId, { state, limit: limitsExaminedMax })),
  );
  return pages
    .flatMap(({ data }) => data)
    .map(({ id, kind, name, match, unit, limit, standing }) => {
      const used = Number(standing?.settled ?? 0) + Number(standing?.held ?? 0);
      const percent = Number(limit) === 0 ? 100 : Math.floor((used / Number(limit)) * 100 + 1e-9);
      // Amounts have at most nine decimals.
      const amount = unit === 'usd' ? String(Number(used.toFixed(9))) : used;
      return { limit_id: id, kind, name, match, unit, limit, used: amount, used_percent: percent };
    })
    .toSorted((a, b) => b.used_percent - a.used_percent)
    .slice(0, listedMax);
}
