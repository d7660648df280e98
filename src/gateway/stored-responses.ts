/**
 * Ownership of responses that providers store. A response belongs to the member of the key that created it, or to the organization
 * if the key has no member. All callers share one account at the provider. So a response can only be read, deleted or continued by
 * a caller that it belongs to.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { findResponseOwner, type ResponseOwner } from '../capabilities/spend/runs/index.ts';
import type { Fields } from '../kernel/providers/fields.ts';
import type { Queryable } from '../platform/db/database.ts';
import { type Caller, outranks } from '../platform/http/routes/access.ts';
import { GatewayError } from './errors/gateway-error.ts';
import { isLabel } from './parse-call.ts';
import type { Settlements } from './settle/settlements.ts';

export interface StoredResponses {
  /** Adds a response that this process created. It is recorded when its call is posted. */
  add(caller: Caller, responseId: string): void;
  /** Throws 404 unless the response belongs to the caller. */
  requireOwn(caller: Caller, responseId: string): Promise<void>;
  /** Throws if the body continues a response that does not belong to the caller. */
  requireOwnPrevious(caller: Caller, body: Fields): Promise<void>;
}

/** Maximum number of recent responses of this process, whose calls may not be posted yet. */
const latestMax = 10_000;
/** Pauses between lookups, because another process may still have to post the call of the response. */
const postedAfterMs = [50, 150, 300, 500];

export function createStoredResponses(
  db: Queryable,
  settlements: Pick<Settlements, 'post'>,
): StoredResponses {
  const latest = new Map<string, ResponseOwner>();

  async function ownerOf(orgId: string, responseId: string): Promise<ResponseOwner | undefined> {
    const known =
      latest.get(responseKey(orgId, responseId)) ?? (await findResponseOwner(db, orgId, responseId));
    if (known !== undefined) {
      return known;
    }
    await settlements.post(orgId);
    for (const waitMs of postedAfterMs) {
      await pause(waitMs);
      const posted = await findResponseOwner(db, orgId, responseId);
      if (posted !== undefined) {
        return posted;
      }
    }
    return undefined;
  }

  async function isOwn(caller: Caller, responseId: string): Promise<boolean> {
    const owner = await ownerOf(caller.tenantId, responseId);
    return owner !== undefined && mayUse(caller, owner);
  }

  return {
    add(caller, responseId) {
      const name = responseKey(caller.tenantId, responseId);
      const [oldest] = latest.keys();
      if (latest.has(name)) {
        return;
      }
      if (latest.size >= latestMax && oldest !== undefined) {
        latest.delete(oldest);
      }
      latest.set(name, { keyId: caller.keyId, memberId: memberOf(caller) });
    },

    async requireOwn(caller, responseId) {
      if (!(await isOwn(caller, responseId))) {
        throw new GatewayError(404, 'not_found', `The response ${responseId} was not found.`);
      }
    },

    async requireOwnPrevious(caller, { previous_response_id: id }) {
      if (id == null) {
        return;
      }
      if (!isLabel(id)) {
        throw new GatewayError(400, 'invalid_value', '`previous_response_id` must be the id of a response.', {
          field,
        });
      }
      if (!(await isOwn(caller, id))) {
        // The code and status of OpenAI, to which clients react by sending the whole conversation.
        throw new GatewayError(400, 'previous_response_not_found', 'The previous response was not found.', {
          field,
        });
      }
    },
  };
}

const field = 'previous_response_id';

/** Returns true if the caller may use a response. Admins may use those of all members. */
function mayUse(caller: Caller, { keyId, memberId }: ResponseOwner): boolean {
  return (
    memberId === null ||
    keyId === caller.keyId ||
    memberId === memberOf(caller) ||
    outranks(caller.role, 'member')
  );
}

function memberOf({ attribution }: Caller): string | null {
  return attribution?.values.member_id ?? null;
}

function responseKey(orgId: string, responseId: string): string {
  return `${orgId} ${responseId}`;
}
