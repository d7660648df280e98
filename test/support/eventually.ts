/** Waits for what has to come. How long it may take is no part of the claim: a machine can be as busy as it likes. */
import { vi } from 'vitest';

const waitedMs = 60_000;

export function eventually<Seen>(look: () => Seen | Promise<Seen>): Promise<Seen> {
  return vi.waitFor(look, { timeout: waitedMs, interval: 20 });
}
