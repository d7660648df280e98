/** Helpers for tests of limits: short calls, compact errors, and the records that a change leaves. */
import { expect } from 'vitest';
import type { TestAnswer, TestOrg, World } from '../harness.ts';

export type Send = (method: string, path: string, body?: unknown) => Promise<TestAnswer>;

/** Returns a function that calls paths below a base path with one key. */
export function sender(world: () => World, base: () => string, key: () => string): Send {
  return (method, path, body) =>
    world().request(method, `${base()}${path}`, { key: key(), ...(body !== undefined && { body }) });
}

/** Returns the status, the error code and, for validation errors, each field with its code. */
export function errorSummary({ status, json }: TestAnswer): unknown[] {
  const fields: { field: string; code: string }[] = json?.error?.details?.fields ?? [];
  return [status, json?.error?.code, ...fields.map(({ field, code }) => `${field} ${code}`).sort()];
}

/** The value of `errorSummary` for a validation error. */
export const invalid = (...fields: string[]) => [422, 'validation_failed', ...fields.sort()];

export interface Recorded {
  readonly action: string;
  readonly target_kind: string;
  readonly target_id: string;
  readonly before: object | null;
  readonly after: object | null;
}

/** Returns the audit entries and events of a tenant, oldest first, without those about the org and its keys. */
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

interface Life {
  readonly body: object;
  readonly patch: object;
  readonly targetKind: string;
  /** The actions of creation, change and end. */
  readonly actions: readonly [string, string, string];
  readonly events: readonly [string, string, string];
  /** Fields that the end adds to the resource. */
  ended(now: string): object;
}

/**
 * Creates, changes and ends a resource of a new org, and checks that each step writes exactly its audit entry and
 * event.
 */
export async function expectRecordedLife(world: World, { id: orgId }: TestOrg, send: Send, life: Life) {
  const created = (await send('POST', '', life.body)).json;
  world.clock.advanceSeconds(1);
  const changed = (await send('PATCH', `/${created.id}`, life.patch)).json;
  world.clock.advanceSeconds(1);
  await send('DELETE', `/${created.id}`);
  const ended = { ...changed, ...life.ended(world.clock.now().toISOString()) };

  const states = [null, created, changed, ended];
  const { entries, events } = await recordedOf(world, orgId);
  expect(entries).toEqual(
    life.actions.map((action, i) => ({
      action,
      target_kind: life.targetKind,
      target_id: created.id,
      before: states[i],
      after: states[i + 1],
    })),
  );
  expect(events).toEqual(life.events.map((type, i) => ({ type, data: states[i + 1] })));
}

/** Posts a run with this cost; returns 201 or the error code. */
export async function chargeOf(
  world: World,
  org: TestOrg,
  cost_usd: string,
  fields: object = {},
): Promise<unknown> {
  const body = { model: 'm', status: 'succeeded', input_tokens: 1, output_tokens: 1, cost_usd, ...fields };
  const { status, json } = await world.request('POST', '/v1/runs', { key: org.ownerKey, body });
  return status === 201 ? status : json.error.code;
}

/** Returns the live limits of an org. */
export async function liveLimits(world: World, orgId: string) {
  return world.db.query(
    `SELECT id, kind, unit, match, period, window_seconds, timezone, capacity, burst, enforcement, alert_thresholds, expires_at
       FROM limits WHERE org_id = $1 AND ended_at IS NULL ORDER BY kind, created_at, id`,
    [orgId],
  );
}

/** Returns the version of the limits, which is incremented with each change. */
export async function limitsVersion(world: World, orgId: string): Promise<bigint> {
  const [row] = await world.db.query<{ limits_version: bigint }>(
    'SELECT limits_version FROM ledger_orgs WHERE org_id = $1',
    [orgId],
  );
  return row?.limits_version ?? 0n;
}

/** Invalid amounts and their error codes, for any amount field. */
export const badAmounts: readonly [unknown, string][] = [
  [5, 'invalid_type'],
  ['-1', 'out_of_range'],
  ['1e3', 'invalid_format'],
  ['0.0000000001', 'invalid_format'],
  ['9000000000', 'out_of_range'],
  ['', 'invalid_format'],
  [' 1', 'invalid_format'],
  ['1.', 'invalid_format'],
];
