/** What tests of limits have in common: short calls, refusals at a glance, and what a change left behind. */
import { expect } from 'vitest';
import type { TestAnswer, TestOrg, World } from '../harness.ts';

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

interface Life {
  readonly body: object;
  readonly patch: object;
  readonly targetKind: string;
  /** Of the creation, the change and the end. */
  readonly actions: readonly [string, string, string];
  readonly events: readonly [string, string, string];
  /** What the end adds to the resource as it was. */
  ended(now: string): object;
}

/** Creates, changes and ends a resource of a fresh org: each leaves its audit entry and its event, and nothing else does. */
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

/** What a run that cost this much is answered: 201, or the code of its refusal. */
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
  ['-1', 'out_of_range'],
  ['1e3', 'invalid_format'],
  ['0.0000000001', 'invalid_format'],
  ['9000000000', 'out_of_range'],
  ['', 'invalid_format'],
  [' 1', 'invalid_format'],
  ['1.', 'invalid_format'],
];
