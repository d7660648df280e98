/**
 * A stream may last longer than what it was admitted by: a key is revoked, a support grant ends, an org is suspended. Whoever
 * would not be let in any more is cut off, as if the stream had failed.
 */
import { refuse } from '../../contract/refusal.ts';
import type { Clock } from '../clock.ts';
import type { Credential } from './access.ts';
import type { StreamAnswer } from './route.ts';

/** Looks at the caller again, from time to time; throws where it is let in no more. */
export type StillAdmitted = () => Promise<void>;

/** As soon as a revocation has to be obeyed by other processes. */
const lookEveryMs = 1_000;

export interface Admission {
  readonly clock: Clock;
  /** Undefined: what was presented belongs to nobody any more. */
  find(now: Date): Promise<Credential | undefined>;
  /** Throws the refusal. */
  examine(credential: Credential, now: Date): void;
}

export function stillAdmitted({ clock, find, examine }: Admission): StillAdmitted {
  let lookedAtMs = clock.now().getTime();
  return async () => {
    const now = clock.now();
    if (now.getTime() - lookedAtMs < lookEveryMs) {
      return;
    }
    lookedAtMs = now.getTime();
    const credential = await find(now);
    if (credential === undefined) {
      throw refuse('unauthorized');
    }
    examine(credential, now);
  };
}

export function whileAdmitted(
  { contentType, chunks }: StreamAnswer,
  isStillAdmitted: StillAdmitted,
): StreamAnswer {
  async function* admitted(): AsyncGenerator<string> {
    for await (const chunk of chunks) {
      await isStillAdmitted();
      yield chunk;
    }
  }
  return { contentType, chunks: admitted() };
}
