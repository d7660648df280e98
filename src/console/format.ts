/** Formats amounts, counts and times for people. `exactUsd` does not round. */
import { Temporal } from 'temporal-polyfill';
import { html, type Markup } from './html.ts';

const wholeDollars = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const cents = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const fine = new Intl.NumberFormat('en-US', {
  minimumFractionDigits: 2,
  maximumFractionDigits: 9,
  maximumSignificantDigits: 3,
  roundingPriority: 'lessPrecision',
});
const counts = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const shortCounts = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

/** Rounds an amount for reading: to cents, large sums to dollars, tiny ones to three digits. */
export function usd(amount: string | number | null | undefined): string {
  if (amount === null || amount === undefined) {
    return '–';
  }
  const value = Number(amount);
  const size = Math.abs(value);
  const sign = value < 0 ? '−' : '';
  if (size >= 100_000) {
    return `${sign}$${wholeDollars.format(size)}`;
  }
  return `${sign}$${size !== 0 && size < 0.1 ? fine.format(size) : cents.format(size)}`;
}

/** Formats an amount without rounding. */
export function exactUsd(amount: string | null | undefined): string {
  if (amount === null || amount === undefined) {
    return '–';
  }
  const [, sign = '', whole = '0', rest = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(amount) ?? [];
  return `${sign === '' ? '' : '−'}$${counts.format(BigInt(whole))}.${rest.padEnd(2, '0')}`;
}

export function shortUsd(amount: number): string {
  const sign = amount < 0 ? '−' : '';
  const size = Math.abs(amount);
  if (size >= 1_000) {
    return `${sign}$${shortCounts.format(size)}`;
  }
  return size === 0 || size >= 10 ? `${sign}$${wholeDollars.format(size)}` : usd(amount);
}

export function count(value: number | string | null | undefined): string {
  return value === null || value === undefined ? '–' : counts.format(Number(value));
}

export function shortCount(value: number): string {
  return shortCounts.format(value);
}

/** Formats an amount in the unit of a limit. */
export function inUnit(unit: string, amount: string | number): string {
  switch (unit) {
    case 'usd':
      return usd(amount);
    case 'tokens':
      return `${count(amount)} tokens`;
    case 'concurrent':
      return `${count(amount)} in flight`;
    default:
      return count(amount);
  }
}

/** Rounds a share, but not to zero. */
export function percent(share: number): string {
  if (share > 0 && share < 0.005) {
    return '<1%';
  }
  return `${Math.round(share * 100)}%`;
}

/** Rounds a share to tenths of a percent, but not to zero. */
export function shareText(share: number): string {
  if (share > 0 && share < 0.0005) {
    return '<0.1%';
  }
  return `${(share * 100).toFixed(1)}%`;
}

export function seconds(value: number): string {
  if (value < 120) {
    return `${Math.round(value)} s`;
  }
  return value < 7_200 ? `${Math.round(value / 60)} min` : `${Math.round(value / 3_600)} h`;
}

export function milliseconds(value: number | null | undefined): string {
  if (value === null || value === undefined) {
    return '–';
  }
  return value < 1_000 ? `${value} ms` : `${(value / 1_000).toFixed(1)} s`;
}

const dateFormats = new Map<string, Intl.DateTimeFormat>();

function dateFormat(timezone: string, style: 'minute' | 'day'): Intl.DateTimeFormat {
  const name = `${timezone} ${style}`;
  let format = dateFormats.get(name);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone: timezone,
      day: 'numeric',
      month: 'short',
      year: 'numeric',
      ...(style === 'minute' && { hour: '2-digit', minute: '2-digit' }),
    });
    dateFormats.set(name, format);
  }
  return format;
}

/** The time of day with seconds, such as “14:03:22”. */
export function clockTime(at: Date, timezone: string): string {
  const { hour, minute, second } = Temporal.Instant.fromEpochMilliseconds(at.getTime()).toZonedDateTimeISO(
    timezone,
  );
  return [hour, minute, second].map((part) => String(part).padStart(2, '0')).join(':');
}

/** An instant in the organization's time zone; the title has the exact one. */
export function time(instant: string | null | undefined, timezone: string): Markup {
  return instant === null || instant === undefined
    ? html`–`
    : html`<time datetime="${instant}" title="${instant}">${dateFormat(timezone, 'minute').format(new Date(instant))}</time>`;
}

export function day(instant: string | null | undefined, timezone: string): Markup {
  return instant === null || instant === undefined
    ? html`–`
    : html`<time datetime="${instant}" title="${instant}">${dateFormat(timezone, 'day').format(new Date(instant))}</time>`;
}

const spans = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always' });

/** Formats the distance to now, such as “3 hours ago” or “in 2 days”. */
export function ago(instant: string | null | undefined, now: Date): Markup {
  if (instant === null || instant === undefined) {
    return html`never`;
  }
  const away = (Date.parse(instant) - now.getTime()) / 1_000;
  const [unit, size] = spans.find(([, length]) => Math.abs(away) >= length) ?? ['second', 1];
  const text = Math.abs(away) < 60 ? 'just now' : relative.format(Math.round(away / size), unit);
  return html`<time datetime="${instant}" title="${instant}">${text}</time>`;
}

/** Turns `not_yet_valid` into “not yet valid”. */
export function humanize(name: string): string {
  return name.replaceAll('_', ' ');
}

export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Formats a day such as `2026-11-15` as “15 Nov”. */
export function shortDate(date: string): string {
  return `${Number(date.slice(8))} ${months[Number(date.slice(5, 7)) - 1]}`;
}
