/** Everything that a process in one of several regions shares with the other regions; undefined if residency is off. */
import type { Registry } from 'prom-client';
import type { Database } from '../../../platform/db/database.ts';
import type { Regions } from '../../../platform/http/pipeline/regions.ts';
import type { Credential } from '../../../platform/http/routes/access.ts';
import type { Page } from '../../../platform/http/routes/page.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import type { Log } from '../../../platform/log.ts';
import type { SharedClock } from '../../../platform/time/clock.ts';
import { createDirectory } from './directory.ts';
import { directoryPage } from './directory-page.ts';
import { createDirectorySync } from './directory-sync.ts';
import { createForwardNonces } from './forward-nonces.ts';
import { createForwarding } from './forwarding.ts';
import type { PeerSecrets } from './signatures.ts';

export interface RegionsDependencies {
  readonly db: Database;
  readonly clock: SharedClock;
  readonly log: Log;
  readonly settings: {
    readonly region: string | undefined;
    readonly regionPeers: ReadonlyMap<string, string>;
    readonly regionPeerSecret: string | undefined;
    readonly regionPeerSecretAccepted: string | undefined;
    readonly edgeFailMode: string;
  };
}

export interface OwnAndOtherRegions extends Regions {
  /** Returns the credential of a token that belongs to an org of another region. */
  findCredential(token: string): Promise<Credential | undefined>;
  readonly pages: readonly Page[];
  readonly jobs: readonly Job[];
  register(metrics: Registry): void;
}

export function createRegions({
  db,
  clock,
  log,
  settings,
}: RegionsDependencies): OwnAndOtherRegions | undefined {
  const { region, regionPeers: peers } = settings;
  if (region === undefined) {
    return undefined;
  }
  const secrets = secretsOf(settings);
  const nonces = createForwardNonces({ db, clock, acceptWithoutDatabase: settings.edgeFailMode === 'open' });
  const forwarding = createForwarding({ region, peers, secrets, clock, log, nonces });
  const sync =
    secrets === undefined ? undefined : createDirectorySync({ db, clock, log, region, peers, secrets });
  return {
    ...forwarding,
    findCredential: createDirectory(db).find,
    pages: [directoryPage({ db, clock, region, secrets })],
    jobs: [nonces.job, ...(sync?.jobs ?? [])],
    register(metrics) {
      forwarding.register(metrics);
      sync?.register(metrics);
    },
  };
}

function secretsOf(settings: RegionsDependencies['settings']): PeerSecrets | undefined {
  const { regionPeerSecret: signing, regionPeerSecretAccepted: accepted } = settings;
  return signing === undefined ? undefined : { signing, accepted };
}
