/**
 * Answers a write. One transaction has the change, its audit entries, its events and its stored response, so that there is one
 * effect per `Idempotency-Key`.
 */
import type { Database, Transaction } from '../../db/database.ts';
import type { Faults } from '../../faults.ts';
import { jsonReply, type Reply } from '../message/reply.ts';
import { checkVersion, isVersioned } from '../routes/entity-tag.ts';
import type { Change, HandlerContext, Route } from '../routes/route.ts';
import type { RouteEndpoint } from '../routes/router.ts';
import { type CustomerDigest, checkIdempotencyKey, reserve, storeResponse } from './idempotency.ts';
import type { KeyReleases } from './key-releases.ts';

export interface WriterDependencies {
  readonly db: Database;
  readonly faults: Faults;
  /** Id of this process among all that use the database. */
  readonly processId: string;
  readonly keyReleases: KeyReleases;
  readonly settings: { readonly idempotencyTakeoverSeconds: number };
  readonly customerDigest: CustomerDigest;
  /** Writes a change's audit entry and events, in the change's transaction. */
  recordChange(tx: Transaction, call: HandlerContext, action: string, change: Change): Promise<void>;
}

/** A handler that changes something, in a transaction that `commit` opens or in one that it shares with other requests. */
export type WriteRun = Exclude<Route['run'], { kind: 'read' | 'stream' | 'document' }>;
type OneEffectRun = Exclude<WriteRun, { kind: 'decision' }>;
type WriteHandler = Extract<Route['run'], { kind: 'write' }>['handler'];
interface IdempotentEffect {
  readonly requestId: string;
  storeResponse(tx: Transaction, text: string, customers?: readonly string[]): Promise<void>;
}

/** Headers of the request that decide whether it has an effect. */
interface EffectConditions {
  /** Values of the `Idempotency-Key` header as they were sent; empty if it is absent. */
  readonly keyLines: readonly string[];
  /** Value of the `If-Match` header; undefined if it is absent. */
  readonly ifMatch: string | undefined;
}

type Writer = (
  endpoint: RouteEndpoint,
  run: WriteRun,
  call: HandlerContext,
  conditions: EffectConditions,
) => Promise<Reply>;

const replayedHeader = { 'idempotent-replayed': 'true' };

export function createWriter(deps: WriterDependencies): Writer {
  const { db, faults, settings, processId, keyReleases, recordChange, customerDigest } = deps;
  async function answerWrite(
    endpoint: RouteEndpoint,
    run: WriteRun,
    call: HandlerContext,
    { keyLines, ifMatch }: EffectConditions,
  ): Promise<Reply> {
    const { route } = endpoint;
    if (run.kind === 'decision') {
      await faults('handler', route.id);
      const key = keyLines.length === 0 ? undefined : checkIdempotencyKey(keyLines);
      const { text, replayed } = await run.handler(call, key);
      return jsonReply(route.success, text, replayed ? replayedHeader : undefined);
    }
    if (keyLines.length === 0) {
      return answered(endpoint, await perform(endpoint, run, call, ifMatch));
    }
    const reserved = await reserve(
      db,
      {
        caller: call.caller,
        method: route.method,
        path: { template: route.path, params: call.params },
        query: call.query,
        body: call.body,
        key: checkIdempotencyKey(keyLines),
        isPosting: run.kind === 'posting',
      },
      {
        processId,
        afterSeconds: settings.idempotencyTakeoverSeconds,
        onUncertain: keyReleases.releaseUncertain,
      },
    );
    if (reserved.kind === 'replay') {
      const { status, body } = reserved.answer;
      return jsonReply(status, body, { ...replayedHeader, ...tagHeader(endpoint, body) });
    }
    const { reservation } = reserved;
    try {
      const text = await perform(endpoint, run, call, ifMatch, {
        requestId: reservation.requestId,
        storeResponse: (tx, body, customers) =>
          storeResponse(tx, reservation, { status: route.success, body, customers }, customerDigest),
      });
      return answered(endpoint, text);
    } catch (error) {
      await keyReleases.release(reservation, call.traceId);
      throw error;
    }
  }

  async function perform(
    endpoint: RouteEndpoint,
    run: OneEffectRun,
    call: HandlerContext,
    ifMatch: string | undefined,
    effect?: IdempotentEffect,
  ): Promise<string> {
    const { route } = endpoint;
    await faults('handler', route.id);
    const text =
      run.kind === 'write'
        ? await commit(route, checked(endpoint, run.handler, ifMatch), call, effect)
        : textOf(
            route,
            await run.handler(
              call,
              effect && ((tx, body, customers) => effect.storeResponse(tx, textOf(route, body), customers)),
              effect?.requestId,
            ),
          );
    await faults('write.after_commit', route.id);
    return text;
  }

  /** Commits the change, its audit entries, its events and its stored response in one transaction. Returns the response body. */
  async function commit(
    route: Route,
    handler: WriteHandler,
    call: HandlerContext,
    effect: IdempotentEffect | undefined,
  ): Promise<string> {
    return db.transaction(
      async (tx) => {
        const { body, changes, customers } = await handler(call, tx);
        for (const change of changes) {
          await recordChange(tx, call, route.id, change);
        }
        const text = textOf(route, body);
        await effect?.storeResponse(tx, text, customers);
        await faults('write.before_commit', route.id);
        return text;
      },
      { tenant: call.caller?.tenantId },
    );
  }

  return answerWrite;
}

function textOf({ response }: Route, body: unknown): string {
  return response === undefined ? '' : JSON.stringify(body);
}

/** Adds the check of `If-Match`, which only changes of a resource honour. */
function checked(
  { route, entityTagOf }: RouteEndpoint,
  handler: WriteHandler,
  ifMatch: string | undefined,
): WriteHandler {
  if (ifMatch === undefined || entityTagOf === undefined || !isVersioned(route)) {
    return handler;
  }
  return async (call, tx) => {
    const outcome = await handler(call, tx);
    checkVersion(ifMatch, entityTagOf, outcome);
    return outcome;
  };
}

function answered(endpoint: RouteEndpoint, text: string): Reply {
  return jsonReply(endpoint.route.success, text, tagHeader(endpoint, text));
}

function tagHeader({ route, entityTagOf }: RouteEndpoint, text: string): { etag: string } | undefined {
  return entityTagOf === undefined || text === '' || !isVersioned(route)
    ? undefined
    : { etag: entityTagOf(JSON.parse(text)) };
}
