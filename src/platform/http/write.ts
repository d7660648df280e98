/**
 * Answers a write: one transaction for the change, its audit entries, its events and its stored answer, and one effect
 * per `Idempotency-Key`.
 */
import type { Database, Transaction } from '../db/database.ts';
import type { Faults } from '../faults.ts';
import type { Log } from '../log.ts';
import { checkIdempotencyKey, release, reserve, storeAnswer } from './idempotency.ts';
import { jsonReply, type Reply } from './reply.ts';
import type { Call, Change, Route } from './route.ts';

export interface WriterDependencies {
  readonly db: Database;
  readonly log: Log;
  readonly faults: Faults;
  readonly settings: { readonly idempotencyTakeoverSeconds: number };
  /** Writes a change's audit entry and events, in the change's transaction. */
  recordChange(tx: Transaction, call: Call, action: string, change: Change): Promise<void>;
}

type WriteHandler = Extract<Route['run'], { kind: 'write' }>['handler'];

/** `keyLines` are the values of the `Idempotency-Key` header as they were sent; none where there is no such header. */
type Writer = (
  route: Route,
  handler: WriteHandler,
  call: Call,
  keyLines: readonly string[],
) => Promise<Reply>;

export function createWriter({ db, log, faults, settings, recordChange }: WriterDependencies): Writer {
  async function answerWrite(
    route: Route,
    handler: WriteHandler,
    call: Call,
    keyLines: readonly string[],
  ): Promise<Reply> {
    if (keyLines.length === 0) {
      return jsonReply(route.success, await commit(route, handler, call));
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
      },
      settings.idempotencyTakeoverSeconds,
    );
    if (reserved.kind === 'replay') {
      return jsonReply(reserved.answer.status, reserved.answer.body, { 'idempotent-replayed': 'true' });
    }
    const { reservation } = reserved;
    try {
      const text = await commit(route, handler, call, (tx, body) =>
        storeAnswer(tx, reservation, { status: route.success, body }),
      );
      return jsonReply(route.success, text);
    } catch (error) {
      // If even this fails, the reservation grows old and is taken over.
      await release(db, reservation).catch((err) =>
        log.warn({ traceId: call.traceId, err }, 'a key stays reserved'),
      );
      throw error;
    }
  }

  /** The change, its audit entries, its events and its stored answer: one transaction. Returns the answer's text. */
  async function commit(
    route: Route,
    handler: WriteHandler,
    call: Call,
    store: (tx: Transaction, body: string) => Promise<void> = async () => undefined,
  ): Promise<string> {
    await faults('handler', route.id);
    const text = await db.transaction(async (tx) => {
      const { body, changes } = await handler(call, tx);
      for (const change of changes) {
        await recordChange(tx, call, route.id, change);
      }
      const text = route.response === undefined ? '' : JSON.stringify(body);
      await store(tx, text);
      await faults('write.before_commit', route.id);
      return text;
    });
    await faults('write.after_commit', route.id);
    return text;
  }

  return answerWrite;
}
