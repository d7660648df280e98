/** What tests of limits have in common: short calls, refusals at a glance, and what a change left behind. */
import type { TestAnswer, World } from '../harness.ts';

export type Send = (method: string, path: string, body?: unknown) => Promise<TestAnswer>;

/** Calls below a path with one key. */
export function sender(world: () => World, base: () => string, key: () => string): Send {
  return (method, path, body) =>
    world().request(method, `${base()}${path}`, { key: key(), ...(body !== undefined && { body }) });
}

/** The status, the code and, for a validation, each field with its code. */
export function refusalOf({ status, json }: TestAnswer): unknown[] {
  const fields: { field: string; code: string }[] = json?.error?.details?.fields ?? [];
  return [status, json?.error?.code, ...fields.map(({ field, code }) => `${field} ${code}`).sort()];
}

/** As `refusalOf` tells of a validation. */
export const invalid = (...fields: string[]) => [422, 'validation_failed', ...fields.sort()];

export interface Recorded {
  readonly action: string;
  readonly target_kind: string;
  readonly target_id: string;
  readonly before: object | null;
  readonly after: object | null;
}

/** The audit entries and the events of a tenant, oldest first, without those of the tenant's own making and its keys. */
export async function recordedOf(world: World, tenantId: string) {
  const entries = await world.db.query<Recorded>(
    `SELECT action, target_kind, target_id, before, after FROM audit_log
      WHERE tenant_id = $1 AND target_kind NOT IN ('org', 'key') ORDER BY seq`,
    [tenantId],
  );
  const events = await world.db.query<{ type: string; data: object }>(
    `SELECT type, data FROM outbox
      WHERE tenant_id = $1 AND type !~ '^(org|key)[.]' ORDER BY created_at, id`,
    [tenantId],
  );
  return { entries, events };
}

/** The limits of an org as the ledger reads them, each as one line. */
export async function liveLimits(world: World, orgId: string) {
  return world.db.query(
    `SELECT id, kind, unit, match, period, window_seconds, timezone, capacity, burst, enforcement, alert_thresholds, expires_at
       FROM limits WHERE org_id = $1 AND ended_at IS NULL ORDER BY kind, created_at, id`,
    [orgId],
  );
}

/** Moves with each change that decisions have to obey. */
export async function limitsVersion(world: World, orgId: string): Promise<bigint> {
  const [row] = await world.db.query<{ limits_version: bigint }>(
    'SELECT limits_version FROM ledger_orgs WHERE org_id = $1',
    [orgId],
  );
  return row?.limits_version ?? 0n;
}

/** Amounts that are none, for any field that takes one. */
export const badAmounts: readonly [unknown, string][] = [
  [5, 'invalid_type'],
  ['-1', 'invalid_format'],
  ['1e3', 'invalid_format'],
  ['0.0000000001', 'invalid_format'],
  ['9000000000', 'invalid_format'],
  ['', 'invalid_format'],
  [' 1', 'invalid_format'],
  ['1.', 'invalid_format'],
];
