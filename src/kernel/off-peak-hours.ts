/**
 * Hours at which a provider charges less than its list price. Responses do not say so, but the time of the call does. A price has
 * these rates under a service tier.
 */

export const offPeakTier = 'off_peak';

interface PeakHours {
  /** From the first hour to before the second, in UTC, Monday to Friday. */
  readonly hours: readonly (readonly [number, number])[];
}

/**
 * DeepSeek, since 2026-08-16 16:00 UTC, on weekends since 2026-08-23: https://api-docs.deepseek.com/quick_start/pricing. On Chinese
 * public holidays it has no peak hours either, but these are not known here.
 */
const peakHours: Readonly<Record<string, PeakHours>> = {
  deepseek: {
    hours: [
      [1, 4],
      [6, 10],
    ],
  },
};

const hourMs = 3_600_000;

/** Returns true if a call at a provider has begun and ended outside of its peak hours. */
export function isOffPeak(provider: string, fromMs: number, untilMs: number): boolean {
  if (!Object.hasOwn(peakHours, provider)) {
    return false;
  }
  const peak = peakHours[provider] as PeakHours;
  for (let atMs = fromMs; atMs < untilMs; atMs += hourMs) {
    if (isPeak(peak, atMs)) {
      return false;
    }
  }
  return !isPeak(peak, untilMs);
}

function isPeak({ hours }: PeakHours, atMs: number): boolean {
  const date = new Date(atMs);
  const [day, hour] = [date.getUTCDay(), date.getUTCHours()];
  return day >= 1 && day <= 5 && hours.some(([from, until]) => hour >= from && hour < until);
}
