/** Texts about limits: a threshold, exhaustion, and the forecast of it. */
import { nounOf } from '../../../contract/run-dimensions.ts';
import type { LimitKind } from '../../../kernel/limits.ts';
import type { LimitRow } from '../../../ledger/limits/limits.ts';
import { shortened } from '../../../platform/shortened-text.ts';
import type { AlertText, Fact } from './alert-text.ts';
import { day, instant, inUnit, percentOf, usd } from './format.ts';

export interface LimitData {
  readonly limit_id: string;
  readonly kind: string;
  readonly match: Readonly<Record<string, string>>;
  readonly matched?: Readonly<Record<string, string>>;
  readonly unit: string;
  readonly limit: string | number;
  readonly window_end: string | null;
}

/** The limit of the event, if it was not deleted since. */
export interface LimitContext {
  readonly row: Pick<LimitRow, 'name' | 'period' | 'owner'> | undefined;
  readonly timezone: string;
}

const kindNames: Readonly<Record<string, string>> = {
  spend_cap: 'Daily spend cap',
  budget: 'Budget',
  customer: 'Customer limit',
  credits: 'Credit pack',
  prepaid: 'Prepaid balance',
  plan_runs: 'Plan limit on runs',
  plan_tokens: 'Plan limit on tokens',
  quota: 'Quota',
  rate: 'Rate limit',
  chain_cost: 'Chain cost limit',
  chain_depth: 'Chain depth limit',
  chain_tokens: 'Chain token limit',
} satisfies Record<LimitKind, string>;
const nameCharsMax = 100;

/** Such as “Budget Support (workflow triage)”. */
export function limitName(
  { kind, match, matched = match }: Pick<LimitData, 'kind' | 'match' | 'matched'>,
  name: string | null | undefined,
): string {
  const scope = Object.entries(matched)
    .map(([field, value]) => {
      const named = nounOf(field) ?? field.replace(/^tag:/, 'tag ').replaceAll('_', ' ');
      return value === '*' ? `per ${named}` : `${named} ${shortened(value, nameCharsMax)}`;
    })
    .join(', ');
  const title = [kindNames[kind] ?? kind, shortened(name ?? '', nameCharsMax)].filter(Boolean).join(' ');
  return scope === '' ? title : `${title} (${scope})`;
}

export function thresholdText(
  data: LimitData & { readonly threshold_percent: number; readonly settled: string | number },
  context: LimitContext,
): AlertText {
  const { unit, limit, settled } = data;
  const name = limitName(data, context.row?.name);
  const percent = percentOf(settled, limit);
  return {
    title: `${name} has used ${percent}%`,
    text: `${name} has used ${percent}% (${inUnit(unit, settled)} of ${inUnit(unit, limit)})${ofWindow(data, context)}`,
    tone: percent >= 100 ? 'critical' : 'warning',
    facts: [
      ['Used', `${inUnit(unit, settled)} of ${inUnit(unit, limit)}`],
      ['Alert threshold', `${data.threshold_percent}%`],
      ...commonFacts(data, context),
    ],
    page: pageOf(data),
  };
}

export function exhaustedText(
  data: LimitData & { readonly used: string | number; readonly code: string },
  context: LimitContext,
): AlertText {
  const { unit, limit, used } = data;
  const name = limitName(data, context.row?.name);
  const isRate = data.kind === 'rate';
  return {
    title: isRate ? `${name} rejects requests` : `${name} has blocked a request`,
    text: isRate
      ? `${name} has rejected a request: its rate is ${inUnit(unit, limit)}. Clients that retry later are not affected.`
      : `${name} has blocked a request that would exceed it: ${inUnit(unit, used)} of ${inUnit(unit, limit)} are used or reserved. Such requests are blocked until ${untilWhen(data, context)}.`,
    tone: 'critical',
    facts: [
      ...(isRate ? [] : [['Used', `${inUnit(unit, used)} of ${inUnit(unit, limit)}`] as const]),
      ['Error code', data.code],
      ...commonFacts(data, context),
    ],
    page: pageOf(data),
  };
}

export function forecastText(
  data: LimitData & {
    readonly used: string | number;
    readonly runs_out_on: string;
    readonly earliest_on: string | null;
    readonly latest_on: string | null;
    readonly expected_at_window_end: string | null;
  },
  context: LimitContext,
): AlertText {
  const { unit, limit, used, earliest_on, latest_on, expected_at_window_end: expected } = data;
  const name = limitName(data, context.row?.name);
  const range: Fact[] =
    earliest_on === null || latest_on === null ? [] : [['Range', `${day(earliest_on)} to ${day(latest_on)}`]];
  return {
    title: `${name} is forecast to run out on ${day(data.runs_out_on)}`,
    text: `At the current rate, ${name} runs out on ${day(data.runs_out_on)}${data.window_end === null ? '' : `, before it resets on ${instant(data.window_end, context.timezone)}`}. So far ${inUnit(unit, used)} of ${inUnit(unit, limit)} are used.`,
    tone: 'warning',
    facts: [
      ['Used', `${inUnit(unit, used)} of ${inUnit(unit, limit)}`],
      ...range,
      ...(expected === null ? [] : [['Expected by the end', inUnit(unit, expected)] as const]),
      ...commonFacts(data, context),
    ],
    page: { label: 'Open forecasts', path: '/console/forecasts' },
  };
}

export function raiseRequestText(
  data: {
    readonly id: string;
    readonly limit_kind: string;
    readonly scope_id: string | null;
    readonly amount_usd: string;
    readonly until: string;
    readonly reason: string;
    readonly requested_by: string;
  },
  { row, timezone }: LimitContext,
): AlertText {
  const name = limitName({ kind: data.limit_kind, match: {} }, row?.name);
  const value = data.scope_id === null ? '' : ` for ${shortened(data.scope_id, nameCharsMax)}`;
  return {
    title: `Raise of ${name} requested`,
    text: `Someone asks to raise ${name}${value} by ${usd(data.amount_usd)} until ${instant(data.until, timezone)}: ${shortened(data.reason, 500)}`,
    tone: 'warning',
    facts: [
      ['Requested by', data.requested_by],
      ...(row?.owner == null ? [] : [['Owner', shortened(row.owner, nameCharsMax)] as const]),
    ],
    page: { label: 'Open requests', path: '/console/raise-requests' },
  };
}

function ofWindow({ window_end }: LimitData, { row, timezone }: LimitContext): string {
  if (window_end === null) {
    return '.';
  }
  const window = row?.period == null ? 'window' : row.period;
  return ` of its ${window}. It resets on ${instant(window_end, timezone)}.`;
}

function untilWhen({ kind, window_end }: LimitData, { timezone }: LimitContext): string {
  if (window_end !== null) {
    return `it resets on ${instant(window_end, timezone)}, or the limit is raised`;
  }
  return kind === 'prepaid' || kind === 'credits' ? 'it is topped up' : 'the limit is raised';
}

function commonFacts(data: LimitData, { row, timezone }: LimitContext): Fact[] {
  return [
    ...(data.window_end === null ? [] : [['Resets', instant(data.window_end, timezone)] as const]),
    ...(row?.owner == null ? [] : [['Owner', shortened(row.owner, nameCharsMax)] as const]),
  ];
}

function pageOf({ limit_id }: LimitData): AlertText['page'] {
  return { label: 'Open limit', path: `/console/limits/${encodeURIComponent(limit_id)}` };
}
