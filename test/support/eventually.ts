/**
 * Waits until a condition holds. The timeout is long, because tests do not check durations and the machine may be busy.
 */
import { vi } from 'vitest';

const waitedMs = 300_000;

export function eventually<Seen>(look: () => Seen | Promise<Seen>): Promise<Seen> {
  return vi.waitFor(look, { timeout: waitedMs, interval: 20 });
}
