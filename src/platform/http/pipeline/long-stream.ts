/**
 * A stream may last longer than what it was admitted by: a key is revoked, a support grant ends, an org is suspended. Whoever
 * would not be let in any more is cut off, as if the stream had failed. So may a page that works for a while before it is
 * answered.
 */
import { apiError } from '../../../contract/api-error.ts';
import type { Clock } from '../../time/clock.ts';
import type { StreamResponse } from '../message/reply.ts';
import type { Credential } from '../routes/access.ts';

/** Looks at the caller again, from time to time; throws where it is let in no more. */
export type StillAdmitted = () => Promise<void>;

/** As soon as a revocation has to be obeyed by other processes. */
const lookEveryMs = 1_000;

export interface Admission {
  readonly clock: Clock;
  /** When it was last known that the caller may be here. */
  readonly foundAt: Date;
  /** Undefined: what was presented belongs to nobody any more. */
  find(now: Date): Promise<Credential | undefined>;
  /** Throws the refusal. */
  examine(credential: Credential, now: Date): void;
}

export function stillAdmitted({ clock, foundAt, find, examine }: Admission): StillAdmitted {
  let lookedAtMs = foundAt.getTime();
  return async () => {
    const now = clock.now();
    if (now.getTime() - lookedAtMs < lookEveryMs) {
      return;
    }
    lookedAtMs = now.getTime();
    const credential = await find(now);
    if (credential === undefined) {
      throw apiError('unauthorized', 'You are not signed in any more.');
    }
    examine(credential, now);
  };
}

export function whileAdmitted(
  { contentType, chunks }: StreamResponse,
  isStillAdmitted: StillAdmitted,
): StreamResponse {
  async function* admitted(): AsyncGenerator<string> {
    for await (const chunk of chunks) {
      await isStillAdmitted();
      yield chunk;
    }
  }
  return { contentType, chunks: admitted() };
}
