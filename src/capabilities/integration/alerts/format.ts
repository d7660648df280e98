/** Amounts and times in messages. */

const cents = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const tiny = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 });
const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** Rounds to cents, tiny amounts to three digits; `$50` rather than `$50.00`. */
export function usd(amount: string | number): string {
  const value = Number(amount);
  const size = Math.abs(value);
  const sign = value < 0 ? '−' : '';
  return `${sign}$${size !== 0 && size < 0.1 ? tiny.format(size) : cents.format(size).replace(/\.00$/, '')}`;
}

export function count(value: number): string {
  return whole.format(value);
}

export function inUnit(unit: string, amount: string | number): string {
  return unit === 'usd' ? usd(amount) : `${count(Number(amount))} ${unit}`;
}

/** Rounded down: 100% means that nothing is left. */
export function percentOf(used: string | number, limit: string | number): number {
  return Number(limit) === 0 ? 100 : Math.floor((Number(used) / Number(limit)) * 100 + 1e-9);
}

/** The change from one amount to another, such as `+12%`; empty if there is nothing to compare with. */
export function change(now: string | number, before: string | number): string {
  if (Number(before) === 0) {
    return '';
  }
  const percent = Math.round((Number(now) / Number(before) - 1) * 100);
  return `${percent > 0 ? '+' : percent < 0 ? '−' : '±'}${count(Math.abs(percent))}%`;
}

/** Such as `Tue, 17 Nov 2026, 09:00 CET`. */
export function instant(at: string | Date, timeZone: string): string {
  return new Intl.DateTimeFormat('en-GB', {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZone,
    timeZoneName: 'short',
  }).format(new Date(at));
}

/** Such as `Tue, 17 Nov 2026`, of a date as `YYYY-MM-DD`. */
export function day(date: string): string {
  return new Intl.DateTimeFormat('en-GB', {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    timeZone: 'UTC',
  }).format(new Date(`${date}T00:00:00Z`));
}
