/** An org to measure with: a key, and limits that apply to every decision and never refuse. */
import type { LoadRequest } from './load.ts';
import type { ServiceProcess } from './processes.ts';

export interface BenchOrg {
  readonly id: string;
  readonly key: string;
  decision(): LoadRequest;
  run(): LoadRequest;
}

const scope = { workflow: 'support', deployment: 'eu-1', department: 'sales', customer_id: 'customer-1' };
/** Far above what a bench can spend. */
const plenty = '1000000000';

export async function benchOrg(service: ServiceProcess): Promise<BenchOrg> {
  const org = await service.post<{ id: string }>('/v1/admin/orgs', { name: 'Bench' });
  const { secret: key } = await service.post<{ secret: string }>(`/v1/admin/orgs/${org.id}/keys`, {
    name: 'bench',
    role: 'owner',
    scopes: [
      'edge:decide',
      'runs:read',
      'runs:write',
      'runs:backfill',
      'budgets:read',
      'budgets:write',
      'customers:read',
      'customers:write',
    ],
  });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return {
    id: org.id,
    key,
    decision: () => ({
      method: 'POST',
      path: '/v1/edge/decision',
      headers,
      body: JSON.stringify({ model: 'gpt-4o', input_tokens: 1_200, max_output_tokens: 400, ...scope }),
    }),
    run: () => ({
      method: 'POST',
      path: '/v1/runs',
      headers,
      body: JSON.stringify({ model: 'gpt-4o', input_tokens: 1_200, output_tokens: 310, ...scope }),
    }),
  };
}

/** A cap, budgets of every kind, a customer's limit and a prepaid balance. */
export async function eightLimits(service: ServiceProcess, { id, key }: BenchOrg): Promise<void> {
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
