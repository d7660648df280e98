/**
 * Ids of fail-open decisions. An id ends with a MAC over the org and the rest of the id. So every process recognizes a decision of
 * another process without a lookup; the decision may not be imported yet, or may be lost with the disk of that process. Invented
 * ids and ids of other orgs are not recognized.
 */
import { timingSafeEqual } from 'node:crypto';
import { base32, createdAtMsOf, type Ids, plainIdCharacters } from '../platform/ids.ts';
import type { Secrets } from '../platform/secrets/secrets.ts';
import type { Clock } from '../platform/time/clock.ts';

/** 80 bits are enough, because a guess can only be tested by sending it. */
const macBytes = 10;

/**
 * Maximum age of a recognized decision. The end of a hold is stored for seven days. After that, a settled decision would look like
 * one that was never imported.
 */
export const recognizedForMs = 6 * 24 * 3_600_000;
/** Maximum difference between the clocks of two processes. */
const clockToleranceMs = 3_600_000;

export interface FailOpenIds {
  next(orgId: string): string;
  /** Returns the time of the decision if the id was given fail-open to this org and is not too old. */
  decidedAtMs(orgId: string, decisionId: string): number | undefined;
}

export function createFailOpenIds(ids: Ids, secrets: Secrets, clock: Clock): FailOpenIds {
  const sign = secrets.signer('fail-open decision');
  const macOf = (orgId: string, plainId: string) => base32(sign(`${orgId} ${plainId}`).subarray(0, macBytes));
  return {
    next(orgId) {
      const plainId = ids.next('dec');
      return plainId + macOf(orgId, plainId);
    },
    decidedAtMs(orgId, decisionId) {
      const plainId = decisionId.slice(0, plainIdCharacters);
      const mac = Buffer.from(decisionId.slice(plainIdCharacters));
      const wanted = Buffer.from(macOf(orgId, plainId));
      if (mac.length !== wanted.length || !timingSafeEqual(mac, wanted)) {
        return undefined;
      }
      const atMs = createdAtMsOf(plainId);
      const ageMs = clock.now().getTime() - atMs;
      return ageMs <= recognizedForMs && ageMs >= -clockToleranceMs ? atMs : undefined;
    },
  };
}
