/**
 * The models behind deployments, learned from responses per org, connection and deployment. The price of a call of a deployment
 * follows from them, because the name of a deployment is chosen by its owner. A deployment may get another model, so several may be
 * known: those of the week before its latest call. They are stored, and all processes know them within a second.
 */
import { NotifiedCache } from '../../platform/cache/notified-cache.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Log } from '../../platform/log.ts';
import {
  countOtherModels,
  type DeploymentModelRow,
  deleteForgotten,
  deploymentModelsOf,
  deploymentsChanged,
  upsertDeploymentModel,
} from './deployment-queries.ts';

export interface Deployment {
  readonly orgId: string;
  readonly connectionId: string;
  /** The name that calls use. */
  readonly name: string;
}

export interface Deployments {
  /** Returns the models that the deployment has served. Returns a promise only if they must be loaded. */
  models(deployment: Deployment): readonly string[] | Promise<readonly string[]>;
  /** Adds the model of a response in the background. */
  learn(deployment: Deployment, model: string, nowMs: number): void;
  /** Resolves once everything learned so far is stored. Never rejects. */
  flush(): Promise<void>;
}

interface Known {
  /** The time at which each model was stored last, by deployment. */
  readonly seenMs: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** Number of models of all deployments. */
  readonly size: number;
}

const cachedOrgsMax = 10_000;
const dayMs = 86_400_000;
const refreshedAfterMs = dayMs;
const otherModelsKeptMs = 7 * dayMs;
const unusedKeptMs = 90 * dayMs;
/** Maxima of what is stored. Names in responses come from providers, and those of deployments from clients. */
const perDeploymentMax = 20;
const perOrgMax = 1_000;
const pendingMax = 1_000;

export function createDeployments(db: Database, log: Log): Deployments {
  const cache = new NotifiedCache<Known>(db, {
    maxEntries: cachedOrgsMax,
    onChange: deploymentsChanged.on,
    load: async (orgId) => knownOf(await deploymentModelsOf(db, orgId)),
  });
  /** Writes in progress, by what they write. */
  const pending = new Map<string, Promise<void>>();

  async function store(orgId: string, row: DeploymentModelRow): Promise<void> {
    const seenMs = row.seen_at.getTime();
    await db.transaction(async (tx) => {
      await deleteForgotten(tx, orgId, row, {
        otherModelsBefore: new Date(seenMs - otherModelsKeptMs),
        unusedBefore: new Date(seenMs - unusedKeptMs),
      });
      const others = await countOtherModels(tx, orgId, row);
      if (others.ofOrg < perOrgMax && others.ofDeployment < perDeploymentMax) {
        await upsertDeploymentModel(tx, orgId, row);
      }
      await deploymentsChanged.notify(tx, orgId);
    });
  }

  return {
    models({ orgId, connectionId, name }) {
      const known = cache.get(orgId);
      const modelsIn = (of: Known) => [...(of.seenMs.get(keyOf(connectionId, name))?.keys() ?? [])];
      return known instanceof Promise ? known.then(modelsIn) : modelsIn(known);
    },

    learn({ orgId, connectionId, name }, model, nowMs) {
      const known = cache.peek(orgId);
      const seenMs = known?.seenMs.get(keyOf(connectionId, name));
      const lastMs = seenMs?.get(model);
      const isRecent = lastMs !== undefined && nowMs - lastMs < refreshedAfterMs;
      const isFull =
        lastMs === undefined && ((seenMs?.size ?? 0) >= perDeploymentMax || (known?.size ?? 0) >= perOrgMax);
      const id = JSON.stringify([orgId, connectionId, name, model]);
      if (isRecent || isFull || pending.has(id) || pending.size >= pendingMax) {
        return;
      }
      const row = { connection_id: connectionId, deployment: name, model, seen_at: new Date(nowMs) };
      const written = store(orgId, row)
        .catch((err) => log.warn({ err, tenant: orgId }, 'cannot store the model of a deployment'))
        .finally(() => pending.delete(id));
      pending.set(id, written);
    },

    async flush() {
      await Promise.all(pending.values());
    },
  };
}

function knownOf(rows: readonly DeploymentModelRow[]): Known {
  const seenMs = new Map<string, Map<string, number>>();
  for (const { connection_id, deployment, model, seen_at } of rows) {
    const key = keyOf(connection_id, deployment);
    const models = seenMs.get(key) ?? new Map<string, number>();
    models.set(model, Math.max(seen_at.getTime(), models.get(model) ?? 0));
    seenMs.set(key, models);
  }
  return { seenMs, size: rows.length };
}

/** Ids of connections contain no space. The names of Azure's resources have no case. */
function keyOf(connectionId: string, name: string): string {
  return `${connectionId} ${name.toLowerCase()}`;
}
