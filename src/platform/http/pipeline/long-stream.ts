/**
 * Repeats the access checks during long responses. A stream, or a page that takes long to compute, may outlast its credential: the
 * key is revoked, the support grant ends, or the org is suspended. The response is then aborted as if it had failed.
 */
import { apiError } from '../../../contract/api-error.ts';
import type { Clock } from '../../time/clock.ts';
import type { StreamResponse } from '../message/reply.ts';
import type { Credential } from '../routes/access.ts';

/** Repeats the access checks if the last ones are too old. Throws if the caller is no longer admitted. */
export type StillAdmitted = () => Promise<void>;

/** Interval of the checks. A revocation takes effect in other processes within this time. */
const checkEveryMs = 1_000;

export interface AccessCheck {
  readonly clock: Clock;
  /** Time at which the credential was found. */
  readonly foundAt: Date;
  /** Finds the credential again; undefined if the token or session no longer has one. */
  find(now: Date): Promise<Credential | undefined>;
  /** Throws if the credential no longer permits the request. */
  examine(credential: Credential, now: Date): void;
}

export function stillAdmitted({ clock, foundAt, find, examine }: AccessCheck): StillAdmitted {
  let checkedAtMs = foundAt.getTime();
  return async () => {
    const now = clock.now();
    if (now.getTime() - checkedAtMs < checkEveryMs) {
      return;
    }
    checkedAtMs = now.getTime();
    const credential = await find(now);
    if (credential === undefined) {
      throw apiError('unauthorized', 'You are no longer signed in.');
    }
    examine(credential, now);
  };
}

export function whileAdmitted(
  { contentType, chunks }: StreamResponse,
  isStillAdmitted: StillAdmitted,
): StreamResponse {
  async function* admitted(): AsyncGenerator<string | Uint8Array> {
    for await (const chunk of chunks) {
      await isStillAdmitted();
      yield chunk;
    }
  }
  return { contentType, chunks: admitted() };
}
