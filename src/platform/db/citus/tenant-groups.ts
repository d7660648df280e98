/**
 * Groups tenants on a Citus cluster by shard, because Citus can lock the rows of only one shard at a time. A tenant keeps its shard
 * when shards move to other workers, but not when a shard is split. So the shards are looked up again at intervals.
 */
import type { Queryable, TenantGroups } from '../database.ts';
import { hasCitus } from './citus-cluster.ts';

/** The groups of a database that is not distributed. */
export const oneGroup: TenantGroups = {
  isOne: true,
  groupOf: () => 0,
  split: async (items) => (items.length === 0 ? [] : [[...items]]),
};

const cachedMax = 100_000;
const cachedForMs = 60_000;

export async function openTenantGroups(db: Queryable, nowMs: () => number = Date.now): Promise<TenantGroups> {
  const table = await findDistributedTable(db);
  return table === null ? oneGroup : groupsByShard(db, table, nowMs);
}

function groupsByShard(db: Queryable, table: string, nowMs: () => number): TenantGroups {
  let shards = new Map<string, number>();
  let clearedAtMs = nowMs();
  let wanted = new Set<string>();
  let isLookingUp = false;

  function cached(tenantId: string): number | undefined {
    if (nowMs() - clearedAtMs > cachedForMs || shards.size > cachedMax) {
      shards = new Map();
      clearedAtMs = nowMs();
    }
    return shards.get(tenantId);
  }

  async function lookUp(tenantIds: readonly string[]): Promise<void> {
    if (tenantIds.length === 0) {
      return;
    }
    for (const { id, shard } of await findShards(db, table, tenantIds)) {
      shards.set(id, Number(shard));
    }
  }

  async function lookUpWanted(): Promise<void> {
    isLookingUp = true;
    try {
      while (wanted.size > 0) {
        const ids = [...wanted];
        wanted = new Set();
        await lookUp(ids);
      }
    } catch {
      // The next call tries again. Until then the tenant has no group.
    } finally {
      wanted = new Set();
      isLookingUp = false;
    }
  }

  return {
    isOne: false,
    groupOf(tenantId) {
      const group = cached(tenantId);
      if (group === undefined) {
        wanted.add(tenantId);
        if (!isLookingUp) {
          void lookUpWanted();
        }
      }
      return group;
    },
    async split(items, tenantOf) {
      await lookUp([...new Set(items.map(tenantOf))].filter((id) => cached(id) === undefined));
      const groups = new Map<number | string, (typeof items)[number][]>();
      for (const item of items) {
        const tenantId = tenantOf(item);
        const group = cached(tenantId) ?? tenantId;
        groups.set(group, [...(groups.get(group) ?? []), item]);
      }
      return [...groups.values()];
    },
  };
}

async function findDistributedTable(db: Queryable): Promise<string | null> {
  if (!(await hasCitus(db))) {
    return null;
  }
  const [row] = await db.query<{ name: string }>(
    `SELECT c.oid::regclass::text AS name FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
      WHERE p.partmethod = 'h' AND c.relnamespace = current_schema()::regnamespace AND NOT c.relispartition
      ORDER BY c.relname LIMIT 1`,
    [],
  );
  return row?.name ?? null;
}

function findShards(
  db: Queryable,
  table: string,
  tenantIds: readonly string[],
): Promise<{ id: string; shard: bigint }[]> {
  return db.query(
    `SELECT id, get_shard_id_for_distribution_column($1::text::regclass, id) AS shard FROM unnest($2::text[]) AS id`,
    [table, tenantIds],
  );
}
