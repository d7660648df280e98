/** The text of the weekly digest. */
import { shortened } from '../../../platform/shortened-text.ts';
import type { AlertSection, AlertText } from './alert-text.ts';
import { change, count, day, inUnit, usd } from './format.ts';
import { limitName } from './limit-texts.ts';

interface ComparedSpend {
  readonly usd: string;
  readonly previous_usd: string;
}

export interface DigestData {
  readonly week_start: string;
  readonly week_end: string;
  readonly spend_usd: string;
  readonly previous_spend_usd: string;
  readonly runs: number;
  readonly top_customers: readonly (ComparedSpend & { readonly customer_id: string })[];
  readonly top_models: readonly (ComparedSpend & { readonly model: string })[];
  readonly top_kinds: readonly (ComparedSpend & { readonly kind: string })[];
  readonly cache_savings_usd: string;
  readonly limits_near: readonly {
    readonly kind: string;
    readonly name: string | null;
    readonly match: Readonly<Record<string, string>>;
    readonly unit: string;
    readonly limit: string | number;
    readonly used: string | number;
    readonly used_percent: number;
  }[];
  readonly blocked_requests: number;
  readonly blocked_by: readonly { readonly code: string; readonly requests: number }[];
  readonly unpriced_models: readonly { readonly model: string; readonly runs: number }[];
  readonly expiring_keys: readonly { readonly name: string; readonly expires_at: string }[];
}

const nameCharsMax = 100;
const dayMs = 86_400_000;

export function digestText(data: DigestData): AlertText {
  const { spend_usd, previous_spend_usd, runs } = data;
  const changed = change(spend_usd, previous_spend_usd);
  return {
    title: `Week of ${day(data.week_start)}: ${usd(spend_usd)} spent`,
    text: `From ${day(data.week_start)} to ${day(lastDay(data.week_end))}, ${usd(spend_usd)} were spent in ${count(runs)} ${runs === 1 ? 'run' : 'runs'}${
      changed === '' ? '' : `: ${changed} against the week before (${usd(previous_spend_usd)})`
    }.`,
    tone: 'info',
    sections: sectionsOf(data).filter(({ lines }) => lines.length > 0),
    page: { label: 'Open usage', path: '/console/usage' },
  };
}

function sectionsOf(data: DigestData): AlertSection[] {
  const spend = (name: string, group: ComparedSpend) => {
    const changed = change(group.usd, group.previous_usd);
    return `${shortened(name, nameCharsMax)}: ${usd(group.usd)}${changed === '' ? '' : ` (${changed})`}`;
  };
  return [
    { title: 'Top customers', lines: data.top_customers.map((one) => spend(one.customer_id, one)) },
    { title: 'Top models', lines: data.top_models.map((one) => spend(one.model, one)) },
    {
      title: 'What it was spent on',
      lines: [...data.top_kinds.map((one) => spend(kindName(one.kind), one)), ...cacheLine(data)],
    },
    {
      title: 'Limits nearly used up',
      lines: data.limits_near.map(
        (one) =>
          `${limitName(one, one.name)}: ${one.used_percent}% (${inUnit(one.unit, one.used)} of ${inUnit(one.unit, one.limit)})`,
      ),
    },
    {
      title: `Blocked requests: ${count(data.blocked_requests)}`,
      lines: data.blocked_by.map(({ code, requests }) => `${code}: ${count(requests)}`),
    },
    {
      title: 'Models without a price',
      lines: data.unpriced_models.map(
        ({ model, runs }) =>
          `${shortened(model, nameCharsMax)}: ${count(runs)} ${runs === 1 ? 'run' : 'runs'}`,
      ),
    },
    {
      title: 'API keys that expire soon',
      lines: data.expiring_keys.map(
        ({ name, expires_at }) => `${shortened(name, nameCharsMax)}: ${day(expires_at.slice(0, 10))}`,
      ),
    },
  ];
}

/** A unit has its own name; the words of other kinds are joined by underscores. */
function kindName(kind: string): string {
  return kind.startsWith('unit:') ? kind.slice('unit:'.length) : kind.replaceAll('_', ' ');
}

function cacheLine({ cache_savings_usd }: DigestData): string[] {
  return Number(cache_savings_usd) > 0 ? [`Caches saved ${usd(cache_savings_usd)}`] : [];
}

function lastDay(weekEnd: string): string {
  return new Date(Date.parse(`${weekEnd}T00:00:00Z`) - dayMs).toISOString().slice(0, 10);
}
