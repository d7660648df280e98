/** Usage bar of a limit: spent, reserved and remaining. */
import { html, type Markup } from '../html.ts';

export interface Meter {
  /** The limit, for screen readers. */
  readonly label: string;
  readonly settled: number;
  readonly held: number;
  readonly limit: number;
  format(value: number): string;
}

const width = 200;
/** From this share on, the limit is shown as nearly exhausted. */
const nearlyUsedShare = 0.8;

export function meter({ label, settled, held, limit, format }: Meter): Markup {
  const whole = Math.max(limit, settled + held, Number.MIN_VALUE);
  const place = (value: number) => Math.round((value / whole) * width * 10) / 10;
  const used = settled + held;
  const share = limit > 0 ? used / limit : 1;
  const state = share >= 1 ? 'full' : share >= nearlyUsedShare ? 'near' : 'fine';
  const rest =
    used > limit
      ? `${format(used - limit)} over the limit of ${format(limit)}`
      : `${format(limit - used)} of ${format(limit)} remaining`;
  const text = `${label}: ${format(settled)} spent, ${format(held)} reserved, ${rest}`;
  return html`<svg class="meter ${state}" viewBox="0 0 ${width} 10" preserveAspectRatio="none" role="img" aria-label="${text}">
<rect class="meter-left" width="${width}" height="10"/>
<rect class="meter-held" x="${place(settled)}" width="${place(held)}" height="10"/>
<rect class="meter-settled" width="${place(settled)}" height="10"/></svg>`;
}
