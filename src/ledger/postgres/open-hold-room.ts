/**
 * Caps the open holds of each org on PostgreSQL. Counting the rows of an org for every decision would be expensive. So a process
 * counts them from time to time and may then open a number of holds before it counts again: its share, among all processes, of the
 * room that is left. The next count also finds holds that have ended since.
 */
import { performance } from 'node:perf_hooks';
import type { Queryable } from '../../platform/db/database.ts';
import { OverCapacity } from '../../platform/service-unavailable.ts';
import { tooManyHolds } from '../holds/take-hold.ts';

export interface OpenHoldRoomOptions {
  readonly db: Queryable;
  /** Maximum number of open holds of an org. */
  readonly holdsMax: number;
  /** Number of live processes that open holds. */
  processes(): number;
  nowMs?(): number;
}

interface OrgRoom {
  /** Holds that may be opened before the next count. */
  left: number;
  /** Holds that the last count allowed. */
  allowed: number;
  /** Holds that are being opened and that a count does not include. */
  opening: number;
  countedAtMs: number;
  counting: Promise<void> | undefined;
}

/** Fraction of the maximum that a process may open before its first count. */
const uncountedPart = 0.01;
/** Minimum time between two counts if the last one allowed less than that fraction. It bounds the counts of an org without room. */
const countEveryMs = 1_000;
const orgsMax = 20_000;

export class OpenHoldRoom {
  readonly #options: OpenHoldRoomOptions;
  readonly #nowMs: () => number;
  readonly #uncounted: number;
  readonly #orgs = new Map<string, OrgRoom>();

  constructor(options: OpenHoldRoomOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? (() => performance.now());
    this.#uncounted = Math.floor(options.holdsMax * uncountedPart);
  }

  /** Runs work that opens holds; rejects with `OverCapacity` if the org has no room for them. */
  use<Result>(orgId: string, holds: number, open: () => Promise<Result>): Promise<Result> {
    const room = this.#roomOf(orgId);
    return room.left >= holds
      ? this.#open(room, holds, open)
      : this.#count(orgId, room).then(() => {
          if (room.left < holds) {
            throw new OverCapacity(tooManyHolds);
          }
          return this.#open(room, holds, open);
        });
  }

  async #open<Result>(room: OrgRoom, holds: number, open: () => Promise<Result>): Promise<Result> {
    room.left -= holds;
    room.opening += holds;
    try {
      return await open();
    } finally {
      room.opening -= holds;
    }
  }

  #roomOf(orgId: string): OrgRoom {
    const existing = this.#orgs.get(orgId);
    if (existing !== undefined) {
      return existing;
    }
    if (this.#orgs.size >= orgsMax) {
      const [oldest] = this.#orgs.keys();
      this.#orgs.delete(oldest ?? '');
    }
    const room: OrgRoom = {
      left: this.#uncounted,
      allowed: this.#uncounted,
      opening: 0,
      countedAtMs: Number.NEGATIVE_INFINITY,
      counting: undefined,
    };
    this.#orgs.set(orgId, room);
    return room;
  }

  /** Counts the open holds. Concurrent callers share a count. Skips it if the last count is recent and allowed few holds. */
  async #count(orgId: string, room: OrgRoom): Promise<void> {
    const isDue = room.allowed > this.#uncounted || this.#nowMs() - room.countedAtMs >= countEveryMs;
    if (room.counting === undefined && isDue) {
      room.counting = this.#read(orgId, room).finally(() => {
        room.counting = undefined;
      });
    }
    await room.counting;
  }

  async #read(orgId: string, room: OrgRoom): Promise<void> {
    const { db, holdsMax, processes } = this.#options;
    const [row] = await db.query<{ open: bigint }>(
      'SELECT count(*) AS open FROM (SELECT FROM holds WHERE org_id = $1 LIMIT $2) AS counted',
      [orgId, holdsMax],
    );
    const free = holdsMax - Number(row?.open ?? 0n) - room.opening;
    room.allowed = Math.max(0, Math.ceil(free / processes()));
    room.left = room.allowed;
    room.countedAtMs = this.#nowMs();
  }
}
