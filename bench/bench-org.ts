/** An org for measurements: a key, its requests, and limits that apply to every decision and never deny. */
import type { LoadRequest } from './load.ts';
import type { ServiceProcess } from './processes.ts';

export interface BenchOrg {
  readonly id: string;
  readonly key: string;
}

export const scopes = [
  'edge:decide',
  'runs:read',
  'runs:write',
  'runs:backfill',
  'budgets:read',
  'budgets:write',
  'customers:read',
  'customers:write',
  'webhooks:read',
  'webhooks:write',
  'policies:write',
  'routing:write',
  'audit:read',
  'org:read',
  'org:write',
  'connections:write',
];

/** The scope of all requests of the bench. */
export const scope = {
  workflow: 'support',
  deployment: 'eu-1',
  department: 'sales',
  customer_id: 'customer-1',
};
/** Far above the spend of a bench. */
export const plenty = '1000000000';

export async function benchOrg(service: ServiceProcess): Promise<BenchOrg> {
  const { id } = await service.post<{ id: string }>('/v1/admin/orgs', { name: 'Bench' });
  const { secret: key } = await service.post<{ secret: string }>(`/v1/admin/orgs/${id}/keys`, {
    name: 'bench',
    role: 'owner',
    scopes,
  });
  return { id, key };
}

/** Creates the org that most rows use. */
export async function orgWithEightLimits(service: ServiceProcess): Promise<BenchOrg> {
  const org = await benchOrg(service);
  await eightLimits(service, org);
  return org;
}

export function decision({ key }: BenchOrg, said: object = {}): LoadRequest {
  return post(key, '/v1/edge/decision', {
    model: 'gpt-4o',
    input_tokens: 1_200,
    max_output_tokens: 400,
    ...scope,
    ...said,
  });
}

export function run({ key }: BenchOrg): LoadRequest {
  return post(key, '/v1/runs', { model: 'gpt-4o', input_tokens: 1_200, output_tokens: 310, ...scope });
}

let bulkRequests = 0;

/** Returns a function that creates bulk requests of the same size with new `external_id`s. */
export function bulk({ key }: BenchOrg, runs: number): () => LoadRequest {
  const { path, headers } = post(key, '/v1/runs/bulk', {});
  // Only the ids change, so that creating a request costs the load generator almost nothing.
  const texts = Array.from({ length: runs }, (_, index) => JSON.stringify(bulkRun(index)).slice(1));
  return () => {
    bulkRequests += 1;
    const lines = texts.map((text, index) => `{"external_id":"bench-${bulkRequests}-${index}",${text}`);
    return { method: 'POST', path, headers, body: `{"runs":[${lines.join(',')}]}` };
  };
}

/** Twenty teams, so that the usage of a bulk request has more than one row. */
export function bulkRun(index: number) {
  return {
    model: 'gpt-4o',
    provider: 'openai',
    action: 'chat',
    team: `team-${index % 20}`,
    ...scope,
    tags: { environment: 'production', release: `v${index % 5}` },
    input_tokens: 1_200 + index,
    cached_input_tokens: 300,
    output_tokens: 310,
    latency_ms: 840,
    metadata: { request_id: `req-${index}`, region: 'eu-west-1' },
  };
}

function post(key: string, path: string, body: object): LoadRequest {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return { method: 'POST', path, headers, body: JSON.stringify(body) };
}

/** Creates a cap, budgets of every kind, a customer limit and a prepaid balance. */
async function eightLimits(service: ServiceProcess, { id, key }: BenchOrg): Promise<void> {
  const own = (method: string, path: string, body: object) =>
    service.call(method, `/v1/orgs/${id}/${path}`, body, key);
  await own('PUT', 'spend-cap', { cap_usd: plenty });
  const budget = (scope_kind: string, scope_id?: string, period = 'month') =>
    own('POST', 'budgets', {
      name: `${scope_kind} ${period}`,
      scope_kind,
      ...(scope_id !== undefined && { scope_id }),
      period,
      limit_usd: plenty,
    });
  await budget('org');
  await budget('org', undefined, 'week');
  await budget('department', scope.department);
  await budget('workflow', scope.workflow);
  await budget('deployment', scope.deployment);
  await own('POST', 'customer-limits', {
    customer_id: scope.customer_id,
    period: 'month',
    limit_usd: plenty,
  });
  await service.post(`/v1/admin/orgs/${id}/prepaid/top-ups`, { amount_usd: plenty });
  await service.call('PUT', `/v1/admin/orgs/${id}/prepaid`, { enabled: true });
}
