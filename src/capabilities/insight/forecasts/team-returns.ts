/** Number of teams in each of the last weeks, with the value and cost of their runs. */
import { fitReturns, type ReturnsCurve, teamsSearchedMax } from '../../../kernel/forecast/returns-curve.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { Params, selectRows } from '../usage/index.ts';
import { daysBefore, type Today } from './calendar.ts';
import type { ScopeFilter } from './history.ts';
import { estimatedUsd } from './measures.ts';
import type { TeamReturnsView } from './schema.ts';

const weeksMax = 26;
/** Number of weeks that the cost per team is averaged over. */
const recentWeeks = 8;
const observedWeeks = 4;
const daysOfWeek = 7;

interface TeamWeek {
  readonly teams: number;
  readonly value: number;
  readonly cost: number;
}

export interface TeamReturns {
  /** Number of teams: the rounded average of the last four weeks. Zero without history. */
  readonly observed: number;
  /** Cost of one team per week. */
  readonly costPerTeam: number;
  readonly curve: ReturnsCurve | undefined;
}

export async function readTeamReturns(
  db: Queryable,
  orgId: string,
  scope: ScopeFilter,
  today: Today,
  now: Date,
): Promise<TeamReturns> {
  const starts = daysBefore(today, weeksMax * daysOfWeek).filter((_, day) => day % daysOfWeek === 0);
  const params = new Params();
  const rows = selectRows(
    {
      orgId,
      range: { fromMs: starts[0] as number, toMs: today.startMs },
      now,
      filters: scope,
      groupBy: [
        { kind: 'field', name: 'team' },
        { kind: 'span', name: 'day', startsMs: starts },
      ],
    },
    params,
  );
  const weeks = await db.query<{ named: bigint; value_nanos: string; usd_nanos: string }>(
    `SELECT count(*) FILTER (WHERE team <> '')::int8 AS named, sum(value_nanos)::text AS value_nanos,
            sum(usd_nanos)::text AS usd_nanos
       FROM (SELECT v0 AS team, v1 AS week, sum(value_nanos) AS value_nanos, sum(usd_nanos) AS usd_nanos
               FROM (${rows}) AS rows GROUP BY v0, v1 HAVING sum(runs) <> 0 OR sum(usd_nanos) <> 0) AS team_weeks
      GROUP BY week ORDER BY week`,
    params.values,
  );
  return returnsOf(
    weeks.map(({ named, value_nanos, usd_nanos }) => ({
      // Runs without a team count for the teams of their week; if it has none, they count as one team.
      teams: Math.max(1, Number(named)),
      value: Number(value_nanos),
      cost: Number(usd_nanos),
    })),
  );
}

export function returnsOf(weeks: readonly TeamWeek[]): TeamReturns {
  const recent = weeks.slice(-recentWeeks);
  const last = weeks.slice(-observedWeeks);
  const sum = (of: readonly TeamWeek[], what: (week: TeamWeek) => number) =>
    of.reduce((total, week) => total + what(week), 0);
  return {
    observed: last.length === 0 ? 0 : Math.round(sum(last, ({ teams }) => teams) / last.length),
    costPerTeam:
      recent.length === 0 ? 0 : sum(recent, ({ cost }) => cost) / sum(recent, ({ teams }) => teams),
    curve: fitReturns(weeks),
  };
}

export interface TeamFactors {
  /** Number of weeks that the figures cover. */
  readonly weeks: number;
  readonly value: number;
  readonly cost: number;
  /** Team count of a scenario. */
  readonly planned: number | undefined;
}

const pointsMax = 24;

export function viewTeamReturns(
  { observed, costPerTeam, curve }: TeamReturns,
  factors: TeamFactors,
): TeamReturnsView {
  const cost = costPerTeam * factors.cost;
  if (curve === undefined) {
    return {
      observed,
      cost_per_team_usd: estimatedUsd(cost * factors.weeks),
      curve: null,
      pays_up_to: null,
      points: [],
    };
  }
  // Multiplying the value of each team has the same effect as dividing the cost by the same factor.
  const pays = curve.paysUpTo(factors.value === 0 ? Number.POSITIVE_INFINITY : cost / factors.value);
  const withinSearch = (teams: number) => (teams >= teamsSearchedMax ? null : teams);
  const usd = (weekly: number) => signedUsd(weekly * factors.weeks);
  return {
    observed,
    cost_per_team_usd: estimatedUsd(cost * factors.weeks),
    curve: {
      family: curve.family,
      elasticity: rounded(curve.elasticity),
      weeks: curve.weeks,
      team_counts: curve.teamCounts,
      r_squared: curve.rSquared === null ? null : rounded(curve.rSquared),
      prior_weight: rounded(curve.priorWeight),
      quality: qualityOf(curve),
    },
    pays_up_to: {
      expected: withinSearch(pays.expected),
      low: withinSearch(pays.low),
      high: withinSearch(pays.high),
    },
    points: teamCounts(observed, pays.expected, factors.planned).map((teams) => {
      const value = curve.valueAt(teams) * factors.value;
      const { low, high } = curve.rangeAt(teams);
      return {
        teams,
        value_usd: usd(value),
        cost_usd: usd(cost * teams),
        return_usd: usd(value - cost * teams),
        return_low_usd: usd(low * factors.value - cost * teams),
        return_high_usd: usd(high * factors.value - cost * teams),
      };
    }),
  };
}

function qualityOf({ priorWeight, rSquared }: ReturnsCurve): 'low' | 'fair' | 'good' {
  if (priorWeight > 0.5) {
    return 'low';
  }
  return priorWeight > 0.2 || (rSquared ?? 0) < 0.5 ? 'fair' : 'good';
}

/** Returns 1, evenly spaced counts to well past the observed count and the last that pays, and the observed and planned counts. */
function teamCounts(observed: number, pays: number, planned = 1): number[] {
  const paying = pays >= teamsSearchedMax ? 0 : pays;
  const last = Math.min(teamsSearchedMax, Math.max(2 * observed, Math.ceil(1.5 * paying), planned, 10));
  const apart = Math.max(1, Math.ceil(last / pointsMax));
  const counts = Array.from({ length: Math.floor(last / apart) }, (_, index) => (index + 1) * apart);
  return [...new Set([1, ...counts, Math.max(1, observed), planned])].sort((a, b) => a - b);
}

function signedUsd(nanos: number): string {
  const text = estimatedUsd(Math.abs(nanos));
  return nanos < 0 && text !== '0' ? `-${text}` : text;
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
