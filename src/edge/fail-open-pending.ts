/** Fail-open decisions that are not in the ledger yet. Their number is bounded. */
import type { HoldKey } from '../ledger/holds/hold.ts';
import { orgKeyId } from '../ledger/holds/take-hold.ts';
import type { Segment } from '../platform/durable-spool.ts';
import { OverCapacity } from '../platform/service-unavailable.ts';
import type { DecisionBody } from './schema.ts';

/** A decision as a line of the spool. */
export interface SpooledDecision {
  readonly id: string;
  readonly orgId: string;
  readonly keyId: string;
  readonly atMs: number;
  readonly body: DecisionBody;
  readonly key: HoldKey | null;
}

export interface PendingDecision {
  readonly decision: SpooledDecision;
  /** The spooled line. */
  readonly line: string;
  readonly bytes: number;
  /** Resolves with the location of the decision once it is on disk. */
  readonly durable: Promise<Segment>;
  isDurable: boolean;
}

/** Part of the maximum from which only orgs below their share can add decisions. */
const reservedFrom = 0.9;
/** Share of each org, as a part of the maximum. */
const orgShare = 0.01;

export class PendingDecisions {
  readonly #bytesMax: number;
  readonly #byId = new Map<string, PendingDecision>();
  readonly #byOrg = new Map<string, { bytes: number; readonly decisions: Map<string, PendingDecision> }>();
  readonly #byKey = new Map<string, PendingDecision>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get size(): number {
    return this.#byId.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get roomBytes(): number {
    return this.#bytesMax - this.#bytes;
  }

  get orgIds(): string[] {
    return [...this.#byOrg.keys()];
  }

  /** Throws if a decision of this size exceeds the maximum, or the share of its org when the spool is nearly full. */
  checkRoom(orgId: string, bytes: number): void {
    const total = this.#bytes + bytes;
    const ofOrg = (this.#byOrg.get(orgId)?.bytes ?? 0) + bytes;
    if (
      total > this.#bytesMax ||
      (total > reservedFrom * this.#bytesMax && ofOrg > orgShare * this.#bytesMax)
    ) {
      throw new OverCapacity('too many fail-open decisions are waiting for the ledger');
    }
  }

  find(decisionId: string): PendingDecision | undefined {
    return this.#byId.get(decisionId);
  }

  findByKey(orgId: string, digest: string): PendingDecision | undefined {
    return this.#byKey.get(orgKeyId(orgId, digest));
  }

  /** Returns the oldest durable decisions of an org. */
  durableOf(orgId: string, limit: number): PendingDecision[] {
    const found: PendingDecision[] = [];
    for (const one of this.#byOrg.get(orgId)?.decisions.values() ?? []) {
      if (found.length === limit) {
        break;
      }
      if (one.isDurable) {
        found.push(one);
      }
    }
    return found;
  }

  /** Returns the time of the oldest decision. */
  oldestAtMs(): number | undefined {
    let oldest: number | undefined;
    for (const { decisions } of this.#byOrg.values()) {
      for (const { decision } of decisions.values()) {
        oldest = Math.min(oldest ?? decision.atMs, decision.atMs);
        // The first decision of an org is its oldest one, apart from decisions taken over from another process.
        break;
      }
    }
    return oldest;
  }

  add(pending: PendingDecision): void {
    const { id, orgId, key } = pending.decision;
    const ofOrg = this.#byOrg.get(orgId) ?? { bytes: 0, decisions: new Map<string, PendingDecision>() };
    ofOrg.decisions.set(id, pending);
    ofOrg.bytes += pending.bytes;
    this.#byOrg.set(orgId, ofOrg);
    this.#byId.set(id, pending);
    this.#bytes += pending.bytes;
    if (key !== null) {
      this.#byKey.set(orgKeyId(orgId, key.digest), pending);
    }
  }

  /** Removes a decision. Returns false if it was removed before. */
  remove({ decision: { id, orgId, key }, bytes }: PendingDecision): boolean {
    const ofOrg = this.#byOrg.get(orgId);
    if (ofOrg === undefined || !this.#byId.delete(id)) {
      return false;
    }
    ofOrg.decisions.delete(id);
    ofOrg.bytes -= bytes;
    if (ofOrg.decisions.size === 0) {
      this.#byOrg.delete(orgId);
    }
    this.#bytes -= bytes;
    if (key !== null && this.#byKey.get(orgKeyId(orgId, key.digest))?.decision.id === id) {
      this.#byKey.delete(orgKeyId(orgId, key.digest));
    }
    return true;
  }
}
