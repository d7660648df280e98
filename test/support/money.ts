/** An org that spends through one or several services, and its reconciliation. */
import { expect } from 'vitest';
import { scopesUntil } from '../../src/contract/scopes.ts';
import { parseUsd } from '../../src/kernel/money.ts';
import type { ServiceAnswer, ServiceProcess } from './service-process.ts';

export interface SpendingOrg {
  readonly id: string;
  readonly key: string;
}

export async function createSpendingOrg(service: ServiceProcess, name = 'Spender'): Promise<SpendingOrg> {
  const body = { name, timezone: zoneAtNoon() };
  const org = created(await service.request('POST', '/v1/admin/orgs', { body }));
  const key = created(
    await service.request('POST', `/v1/admin/orgs/${org.id}/keys`, {
      // Those of the first release, which the service may be.
      body: { name: 'owner', role: 'owner', scopes: scopesUntil(0) },
    }),
  );
  return { id: org.id, key: key.secret };
}

/**
 * Returns a time zone in which it is about noon, so that no day ends during a test of several minutes: spawned
 * services use the system clock.
 */
export function zoneAtNoon(now = new Date()): string {
  const behind = now.getUTCHours() - 12;
  return behind === 0 ? 'UTC' : `Etc/GMT${behind > 0 ? '+' : '-'}${Math.abs(behind)}`;
}

// biome-ignore lint/suspicious/noExplicitAny: a resource of any kind.
function created({ status, text, json }: ServiceAnswer): any {
  expect(status, text).toBe(201);
  return json;
}

export interface OpenHoldView {
  readonly decision_id: string;
  readonly run_id: string | null;
  readonly surface: 'edge' | 'run';
  readonly held_usd: string;
  readonly workflow: string | null;
  readonly expires_at: string;
}

export interface CounterView {
  readonly limit_id: string;
  readonly kind: string;
  readonly settled: string;
  readonly held: string;
}

export interface ReconciledView {
  readonly balanced: boolean;
  readonly drift_usd: string;
  readonly totals: {
    readonly cost_usd: Readonly<Record<'entries' | 'runs' | 'usage', string>>;
    readonly runs: Readonly<Record<'entries' | 'runs' | 'usage', string>>;
    readonly uncovered_usd: Readonly<Record<'entries' | 'runs', string>>;
    readonly credits_usd: Readonly<Record<'entries' | 'tallies', string>>;
  };
  readonly counters: readonly CounterView[];
}

/** The API calls of money tests, with the key of the org. */
export function spending(service: Pick<ServiceProcess, 'request'>, { id, key }: SpendingOrg) {
  const send = (method: string, path: string, body?: object, idempotencyKey?: string) =>
    service.request(method, path, {
      key,
      ...(body !== undefined && { body }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
    });
  const base = `/v1/orgs/${id}`;

  // biome-ignore lint/suspicious/noExplicitAny: views of several kinds.
  async function listAll(path: string): Promise<any[]> {
    const found = [];
    let cursor: string | null = null;
    do {
      const after: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { status, json, text } = await send('GET', `${path}?limit=200${after}`);
      expect(status, text).toBe(200);
      found.push(...json.data);
      cursor = json.next_cursor;
    } while (cursor !== null);
    return found;
  }

  return {
    send,
    decide: (body: object, idempotencyKey?: string) =>
      send('POST', '/v1/edge/decision', { model: 'm', ...body }, idempotencyKey),
    run: (body: object, idempotencyKey?: string) =>
      send('POST', '/v1/runs', { model: 'm', ...body }, idempotencyKey),
    complete: (runId: string, body: object, idempotencyKey?: string) =>
      send('POST', `/v1/runs/${runId}/complete`, body, idempotencyKey),
    void: (holdId: string, idempotencyKey?: string) =>
      send('DELETE', `${base}/holds/${holdId}`, undefined, idempotencyKey),
    extend: (holdId: string, seconds: number, idempotencyKey?: string) =>
      send('POST', `${base}/holds/${holdId}/extend`, { seconds }, idempotencyKey),
    cap: (cap_usd: string) => send('PUT', `${base}/spend-cap`, { cap_usd }),
    holds: (): Promise<OpenHoldView[]> => listAll(`${base}/holds`),
    runs: () => listAll('/v1/runs'),
    async reconcile(): Promise<ReconciledView> {
      const { status, json, text } = await send('GET', `${base}/ledger/reconciliation`);
      expect(status, text).toBe(200);
      return json;
    },
    /** Fails unless the ledger is balanced. */
    async balanced(): Promise<ReconciledView> {
      const view = await this.reconcile();
      expect(view, JSON.stringify(view)).toMatchObject({ balanced: true, drift_usd: '0' });
      return view;
    },
  };
}

export type Spending = ReturnType<typeof spending>;

export function nanos(usd: string): bigint {
  const parsed = parseUsd(usd);
  if (parsed === undefined) {
    throw new Error(`${usd} is not an amount`);
  }
  return parsed;
}

export function sum(amounts: Iterable<bigint>): bigint {
  let total = 0n;
  for (const amount of amounts) {
    total += amount;
  }
  return total;
}

/** Returns the amounts of a kind of limit over all windows. */
export function countedBy(view: ReconciledView, kind: string): { settled: bigint; held: bigint } {
  const rows = view.counters.filter((row) => row.kind === kind);
  return {
    settled: sum(rows.map(({ settled }) => nanos(settled))),
    held: sum(rows.map(({ held }) => nanos(held))),
  };
}
