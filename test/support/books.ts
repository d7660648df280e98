/** Looks at what a service left in its database, from the rows alone. */
import { type AuditEntry, chainStart, entryHash } from '../../src/capabilities/audit/chain.ts';
import type { Queryable } from '../../src/platform/db/database.ts';
import { openPlace, type Place } from './test-database.ts';

interface AuditRow {
  readonly tenant_id: string;
  readonly seq: bigint;
  readonly id: string;
  readonly at: Date;
  readonly actor_kind: string;
  readonly actor_id: string;
  readonly action: string;
  readonly target_kind: string;
  readonly target_id: string;
  readonly before: object | null;
  readonly after: object | null;
  readonly address: string | null;
  readonly trace_id: string | null;
  readonly previous_hash: string;
  readonly hash: string;
}

/** Opens the database of a service. On the embedded engine that service has to be stopped. */
export async function readBooks<Result>(
  place: Place,
  look: (db: Queryable) => Promise<Result>,
): Promise<Result> {
  const db = await openPlace(place);
  try {
    return await look(db);
  } finally {
    await db.close();
  }
}

/** Recomputes every tenant's chain from its rows. Returns the tenants, and a sentence for each fault found. */
export async function verifyChains(db: Queryable): Promise<{ tenants: string[]; faults: string[] }> {
  const rows = await db.query<AuditRow>('SELECT * FROM audit_log ORDER BY tenant_id, seq', []);
  const heads = await db.query<{ tenant_id: string; seq: bigint; hash: string }>(
    'SELECT tenant_id, seq, hash FROM audit_chains',
    [],
  );
  const tenants = [...new Set([...rows, ...heads].map(({ tenant_id }) => tenant_id))];
  const faults = tenants.flatMap((tenant) => {
    const found: string[] = [];
    let seq = 0n;
    let hash = chainStart;
    for (const row of rows.filter(({ tenant_id }) => tenant_id === tenant)) {
      seq += 1n;
      if (row.seq !== seq || row.previous_hash !== hash || row.hash !== entryHash(hash, toEntry(row))) {
        found.push(`${tenant}: entry ${row.seq} does not follow from the one before`);
      }
      hash = row.hash;
    }
    const head = heads.find(({ tenant_id }) => tenant_id === tenant);
    if (head?.seq !== seq || head.hash !== hash) {
      found.push(`${tenant}: the chain's head is not its last entry`);
    }
    return found;
  });
  return { tenants, faults };
}

function toEntry(row: AuditRow): AuditEntry {
  return {
    tenantId: row.tenant_id,
    seq: row.seq,
    id: row.id,
    at: row.at,
    actorKind: row.actor_kind,
    actorId: row.actor_id,
    action: row.action,
    targetKind: row.target_kind,
    targetId: row.target_id,
    before: row.before,
    after: row.after,
    address: row.address,
    traceId: row.trace_id,
  };
}

export interface Effects {
  /** Rows of the resource with this name. */
  readonly rows: number;
  /** Audit entries and outgoing events that tell of their creation. */
  readonly entries: number;
  readonly events: number;
}

export const oneEffect: Effects = { rows: 1, entries: 1, events: 1 };

/** How often each org was created, by name. */
export function orgEffects(db: Queryable): Promise<Map<string, Effects>> {
  return effects(db, 'orgs', 'orgs.create', 'org.created');
}

/** How often each key was minted by an operator, by name. */
export function keyEffects(db: Queryable): Promise<Map<string, Effects>> {
  return effects(db, 'keys', 'orgs.keys.mint', 'key.created');
}

async function effects(
  db: Queryable,
  table: 'orgs' | 'keys',
  action: string,
  event: string,
): Promise<Map<string, Effects>> {
  // Started from the log and the outbox as well, so that one without its resource is counted too.
  const rows = await db.query<{ name: string; rows: number; entries: number; events: number }>(
    `SELECT name, count(*) FILTER (WHERE source = 'row')::int4 AS rows,
            count(*) FILTER (WHERE source = 'entry')::int4 AS entries,
            count(*) FILTER (WHERE source = 'event')::int4 AS events
       FROM (SELECT name, 'row' AS source FROM ${table}
             UNION ALL SELECT after ->> 'name', 'entry' FROM audit_log WHERE action = $1
             UNION ALL SELECT data ->> 'name', 'event' FROM outbox WHERE type = $2) AS found
      GROUP BY name`,
    [action, event],
  );
  return new Map(rows.map(({ name, ...counts }) => [name, counts]));
}
