/** How many teams there were in each of the last weeks, what their runs were worth and what they cost. */
import { fitReturns, type ReturnsCurve, teamsSearchedMax } from '../../../kernel/forecast/returns-curve.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { sumUsage } from '../usage/index.ts';
import { daysBefore, type Today } from './calendar.ts';
import type { ScopeFilter } from './history.ts';
import { estimatedUsd } from './measures.ts';
import type { TeamReturnsView } from './schema.ts';

const weeksMax = 26;
/** Told apart in all weeks together. */
const teamWeeksMax = 10_000;
/** What a team costs, and how many there are, is told by the last weeks. */
const recentWeeks = 8;
const observedWeeks = 4;
const daysOfWeek = 7;

interface TeamWeek {
  readonly teams: number;
  readonly value: number;
  readonly cost: number;
}

export interface TeamReturns {
  /** Of the last four weeks, to the nearest. Zero without any history. */
  readonly observed: number;
  /** Of a week. */
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
  const { groups } = await sumUsage(db, {
    orgId,
    range: { fromMs: starts[0] as number, toMs: today.startMs },
    now,
    filters: scope,
    groupBy: [
      { kind: 'field', name: 'team' },
      { kind: 'span', name: 'day', startsMs: starts },
    ],
    after: undefined,
    limit: teamWeeksMax,
  });
  const byWeek = new Map<number, { named: number; value: number; cost: number }>();
  for (const { values, value_nanos, usd_nanos } of groups) {
    const week = byWeek.get(Number(values[1])) ?? { named: 0, value: 0, cost: 0 };
    week.named += values[0] === '' ? 0 : 1;
    week.value += Number(value_nanos);
    week.cost += Number(usd_nanos);
    byWeek.set(Number(values[1]), week);
  }
  // Weeks come in order; where there were more teams than are told apart, the last one is not whole.
  const whole = groups.length < teamWeeksMax ? [...byWeek] : [...byWeek].slice(0, -1);
  const weeks = whole
    .sort(([a], [b]) => a - b)
    // Runs that name no team share the teams there are; with none at all they are one.
    .map(([, { named, value, cost }]): TeamWeek => ({ teams: Math.max(1, named), value, cost }));
  return returnsOf(weeks);
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
  /** How many weeks the figures are for. */
  readonly weeks: number;
  readonly value: number;
  readonly cost: number;
  /** That a scenario plans for. */
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
  // A curve that is worth a factor more pays as one whose teams cost a factor less.
  const pays = curve.paysUpTo(factors.value === 0 ? Number.POSITIVE_INFINITY : cost / factors.value);
  const told = (teams: number) => (teams >= teamsSearchedMax ? null : teams);
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
    pays_up_to: { expected: told(pays.expected), low: told(pays.low), high: told(pays.high) },
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

/** From one team to well past those there are and those that pay, evenly, and those planned for. */
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
