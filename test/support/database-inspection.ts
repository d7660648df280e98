/** Reads the database of a service directly, without the API. */
import { chainStart } from '../../src/capabilities/compliance/audit/chain.ts';
import { ChainCheck } from '../../src/capabilities/compliance/audit/chain-check.ts';
import { type AuditRow, entryOfRow } from '../../src/capabilities/compliance/audit/queries.ts';
import type { Queryable } from '../../src/platform/db/database.ts';
import { openPlace, type Place } from './test-database.ts';

/** Opens the database of a service. On the embedded engine the service must be stopped. */
export async function inspectDatabase<Result>(
  place: Place,
  read: (db: Queryable) => Promise<Result>,
): Promise<Result> {
  const db = await openPlace(place);
  try {
    return await read(db);
  } finally {
    await db.close();
  }
}

/** Recomputes the audit chain of every tenant. Returns the tenants, and a message for each defect. */
export async function verifyChains(db: Queryable): Promise<{ tenants: string[]; faults: string[] }> {
  const rows = await db.query<AuditRow>('SELECT * FROM audit_log ORDER BY tenant_id, seq', []);
  const heads = await db.query<{ tenant_id: string; seq: bigint; hash: string }>(
    'SELECT tenant_id, seq, hash FROM audit_chains',
    [],
  );
  const tenants = [...new Set([...rows, ...heads].map(({ tenant_id }) => tenant_id))];
  const faults = tenants.flatMap((tenant) => {
    const check = new ChainCheck({ start: chainStart, isSigned: () => true });
    for (const row of rows.filter(({ tenant_id }) => tenant_id === tenant)) {
      check.add(entryOfRow(row));
    }
    const head = heads.find(({ tenant_id }) => tenant_id === tenant);
    return check
      .finish({ seq: Number(head?.seq ?? 0), hash: head?.hash ?? chainStart.hash })
      .map(({ kind, seq }) => `${tenant}: ${kind} ${seq}`);
  });
  return { tenants, faults };
}

export interface Effects {
  /** Number of rows with this name. */
  readonly rows: number;
  /** Number of audit entries and events about their creation. */
  readonly entries: number;
  readonly events: number;
}

export const oneEffect: Effects = { rows: 1, entries: 1, events: 1 };

/** Counts the creations of each org, by name. */
export function orgEffects(db: Queryable): Promise<Map<string, Effects>> {
  return effects(db, 'orgs', 'orgs.create', 'org.created');
}

/** Counts the keys created by an operator, by name. */
export function keyEffects(db: Queryable): Promise<Map<string, Effects>> {
  return effects(db, 'keys', 'orgs.keys.mint', 'key.created');
}

async function effects(
  db: Queryable,
  table: 'orgs' | 'keys',
  action: string,
  event: string,
): Promise<Map<string, Effects>> {
  // Also counts log entries and events without a resource.
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
