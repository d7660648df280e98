/** Converts discounts between percent as text ("12.5") and basis points (1250 hundredths of a percent). */
import { basisPointsMax } from '../../../kernel/prices.ts';

/** Parses text that matches the schema. Returns undefined for more than 100 percent. */
export function parsePercent(text: string): number | undefined {
  const [whole = '', fraction = ''] = text.split('.');
  const basisPoints = Number(whole) * 100 + Number(fraction.padEnd(2, '0'));
  return basisPoints <= basisPointsMax ? basisPoints : undefined;
}

export function formatPercent(basisPoints: number): string {
  const whole = Math.floor(basisPoints / 100);
  const fraction = String(basisPoints % 100)
    .padStart(2, '0')
    .replace(/0+$/, '');
  return fraction === '' ? String(whole) : `${whole}.${fraction}`;
}
