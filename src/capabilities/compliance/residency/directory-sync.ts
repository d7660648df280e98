/**
 * Synchronizes the directory: every second it reads the changes of each other region, and every ten minutes the full
 * directory, which repairs anything missed (a restored backup, a change that took too long to commit).
 *
 * One process of a region does this at a time, under a lease. While a region is unreachable its data is kept: its orgs
 * could not be served anyway.
 */
import { Gauge, type Registry } from 'prom-client';
import type { Database } from '../../../platform/db/database.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import type { Log } from '../../../platform/log.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import type { DirectoryEntry, DirectoryPart, DirectoryRequest } from './directory.ts';
import { directoryHeader, directoryUrl, requestPurpose, responsePurpose } from './directory-page.ts';
import {
  acquireLease,
  completeLease,
  deleteHeard,
  deleteOthers,
  releaseLease,
  selectAges,
  upsertReceived,
} from './directory-queries.ts';
import { type PeerSecrets, sha256, sign, verify } from './signatures.ts';

const everyMs = 1_000;
const wholeEverySeconds = 600;
const leaseSeconds = 30;
const usualAnswerWithinMs = 10_000;
const answerBytesMax = 16 * 1_024 * 1_024;

export interface DirectorySyncDependencies {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly region: string;
  readonly peers: ReadonlyMap<string, string>;
  readonly secrets: PeerSecrets;
  readonly answerWithinMs?: number;
}

export interface DirectorySync {
  readonly jobs: readonly Job[];
  register(metrics: Registry): void;
}

export function createDirectorySync(deps: DirectorySyncDependencies): DirectorySync {
  const { db, region } = deps;
  const others = [...deps.peers].filter(([name]) => name !== region);
  return {
    jobs: others.map(([peer, origin]) => syncJob(deps, peer, origin)),
    register(metrics) {
      new Gauge({
        name: 'svc_region_directory_age_seconds',
        help: 'Age of the directory data received from another region.',
        labelNames: ['region'],
        registers: [metrics],
        async collect() {
          this.reset();
          for (const { region: peer, seconds } of await selectAges(db).catch(() => [])) {
            this.set({ region: peer }, seconds);
          }
        },
      });
    },
  };
}

function syncJob(deps: DirectorySyncDependencies, peer: string, origin: string): Job {
  const { db, log } = deps;
  let isAway = false;

  async function whole(): Promise<string> {
    let after = '';
    let through: string | undefined;
    for (;;) {
      const part = await requestPeer(deps, peer, origin, { kind: 'whole', after });
      // The time of the first part. Changes since then arrive with the next read of changes.
      through ??= part.now;
      const last = part.more ? (part.entries.at(-1)?.org_id ?? null) : null;
      await db.transaction(async (tx) => {
        await hear(tx, peer, part.entries);
        await deleteOthers(tx, peer, {
          after,
          through: last,
          sent: part.entries.map(({ org_id }) => org_id),
        });
      });
      if (last === null) {
        return through;
      }
      after = last;
    }
  }

  async function changes(since: string): Promise<string> {
    let request: DirectoryRequest = { kind: 'changes', since, after: undefined };
    let through = since;
    for (;;) {
      const { entries, more }: DirectoryPart = await requestPeer(deps, peer, origin, request);
      await db.transaction((tx) => hear(tx, peer, entries));
      const last = entries.at(-1);
      if (last === undefined) {
        return through;
      }
      through = last.changed_at;
      if (!more) {
        return through;
      }
      request = { kind: 'changes', since: through, after: last.org_id };
    }
  }

  return {
    id: `sync-directory-${peer}`,
    everyMs,
    async runOnce() {
      const turn = await acquireLease(db, peer, { everyMs: everyMs / 2, wholeEverySeconds, leaseSeconds });
      if (turn === undefined) {
        return false;
      }
      const isWhole = turn.through === null || turn.whole_is_due;
      try {
        const through = isWhole ? await whole() : await changes(turn.through as string);
        await completeLease(db, peer, { through, whole: isWhole });
        if (isAway) {
          log.info({ region: peer }, 'region reachable again');
        }
        isAway = false;
      } catch (error) {
        await releaseLease(db, peer, turn.attempted_at);
        if (!isAway) {
          log.warn({ region: peer, reason: String(error) }, 'directory of region cannot be read');
        }
        isAway = true;
      }
      return false;
    },
  };
}

async function hear(
  tx: Parameters<typeof upsertReceived>[0],
  peer: string,
  entries: readonly DirectoryEntry[],
): Promise<void> {
  for (const { org_id, changed_at, known } of entries) {
    await (known === null
      ? deleteHeard(tx, peer, org_id)
      : upsertReceived(tx, peer, { org_id, changed_at, ...known }));
  }
}

async function requestPeer(
  { clock, region, secrets, answerWithinMs = usualAnswerWithinMs }: DirectorySyncDependencies,
  peer: string,
  origin: string,
  request: DirectoryRequest,
): Promise<DirectoryPart> {
  const url = directoryUrl(request);
  const nowMs = clock.now().getTime();
  const signedRequest = sign(secrets, requestPurpose, { from: region, to: peer, atMs: nowMs }, [url]);
  const response = await fetch(origin + url, {
    headers: { [directoryHeader]: signedRequest },
    redirect: 'error',
    signal: AbortSignal.timeout(answerWithinMs),
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(
      `it returned ${response.status}: check that the secrets match and the clocks differ by less than a minute`,
    );
  }
  const body = await readText(response);
  const signed = response.headers.get(directoryHeader) ?? '';
  const at = { region, nowMs: clock.now().getTime() };
  if (verify(secrets, responsePurpose, signed, [signedRequest, sha256(body)], at)?.from !== peer) {
    throw new Error('its response is not signed correctly');
  }
  return JSON.parse(body) as DirectoryPart;
}

async function readText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > answerBytesMax) {
      throw new Error('its response is too large');
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
