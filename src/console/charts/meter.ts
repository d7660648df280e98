/** A limit as one bar: what is settled, what is held, what is left. */
import { html, type Markup } from '../html.ts';

export interface Meter {
  /** What is measured, for those who do not see it. */
  readonly label: string;
  readonly settled: number;
  readonly held: number;
  readonly limit: number;
  format(value: number): string;
}

const width = 200;
/** From here on it is shown as nearly used up. */
const nearlyUsedShare = 0.8;

export function meter({ label, settled, held, limit, format }: Meter): Markup {
  const whole = Math.max(limit, settled + held, Number.MIN_VALUE);
  const place = (value: number) => Math.round((value / whole) * width * 10) / 10;
  const used = settled + held;
  const share = limit > 0 ? used / limit : 1;
  const state = share >= 1 ? 'full' : share >= nearlyUsedShare ? 'near' : 'fine';
  const rest = used > limit ? `${format(used - limit)} over` : `${format(limit - used)} left of`;
  const text = `${label}: ${format(settled)} settled, ${format(held)} held, ${rest} ${format(limit)}`;
  return html`<svg class="meter ${state}" viewBox="0 0 ${width} 10" preserveAspectRatio="none" role="img" aria-label="${text}"><rect class="meter-left" width="${width}" height="10"/><rect class="meter-held" x="${place(settled)}" width="${place(held)}" height="10"/><rect class="meter-settled" width="${place(settled)}" height="10"/></svg>`;
}
