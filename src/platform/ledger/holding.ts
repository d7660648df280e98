/** Taking a hold that was admitted, the same on both engines. */
import { type Admission, type Applied, type Charge, leftOut, take } from '../../kernel/admission.ts';
import type { Ids } from '../ids.ts';
import type { Book } from './book.ts';
import type { Hold } from './hold.ts';
import { type Held, type HoldRequest, holdSecondsMax } from './ledger.ts';

export interface Admitted {
  readonly request: HoldRequest;
  readonly charge: Charge;
  readonly applied: readonly Applied[];
  readonly admission: Extract<Admission, { kind: 'allowed' }>;
}

/** Takes it in the book; making it durable is for whoever keeps the book. */
export function holdFor(ids: Ids, book: Book, { request, charge, applied, admission }: Admitted): Held {
  take(book.counters, admission.takes);
  take(book.counters, admission.packs);
  const hold: Hold = {
    id: ids.next('dec'),
    orgId: request.orgId,
    runId: null,
    surface: request.surface,
    scope: request.scope,
    amounts: request.amounts,
    admittedAtMs: charge.atMs,
    expiresAtMs: charge.atMs + request.holdSeconds * 1_000,
    takes: admission.takes,
    packs: admission.packs,
    priceVersion: request.priceVersion,
    idempotency: null,
  };
  const held: Held = {
    kind: 'held',
    hold,
    left: applied.map((one) => ({ applied: one, remaining: remaining(book, one) })),
    notChecked: leftOut(request.surface, book.limits, charge),
  };
  const kept = request.key === undefined ? held : withKey(held, request.key);
  book.holds.set(hold.id, { hold: kept.hold, ending: false });
  return kept;
}

/** Takes a hold that was given without asking. */
export function adopted(book: Book, given: Hold, applied: readonly Applied[]): Hold {
  const takes = applied.filter(({ amount }) => amount > 0n).map(({ key, amount }) => ({ key, amount }));
  take(book.counters, takes);
  const hold: Hold = { ...given, takes };
  book.holds.set(hold.id, { hold, ending: false });
  return hold;
}

function withKey(held: Held, { digest, fingerprint, answerOf }: NonNullable<HoldRequest['key']>): Held {
  return { ...held, hold: { ...held.hold, idempotency: { digest, fingerprint, answer: answerOf(held) } } };
}

/** Stops at zero: a limit may have been lowered below what is spent. */
function remaining(book: Book, { key, limit }: Applied): bigint {
  const counter = book.counters.get(key);
  const left = limit.capacity - (counter?.settled ?? 0n) - (counter?.held ?? 0n);
  return left > 0n ? left : 0n;
}

/** Never earlier than it was, never later than a day after the admission. */
export function extendedTo(hold: Hold, nowMs: number, seconds: number): number {
  const latestMs = hold.admittedAtMs + holdSecondsMax * 1_000;
  return Math.max(hold.expiresAtMs, Math.min(nowMs + seconds * 1_000, latestMs));
}

export function keyName(orgId: string, digest: string): string {
  return `${orgId} ${digest}`;
}
