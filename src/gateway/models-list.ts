/** The list of models: those that have a price and a connection, and that no policy blocks for the caller. */
import { attemptFrom, type PolicyCheck } from '../capabilities/governance/policies/index.ts';
import type { Connections } from '../capabilities/integration/connections/index.ts';
import type { Prices } from '../capabilities/spend/models/index.ts';
import type { Reply } from '../platform/http/message/reply.ts';
import type { Caller } from '../platform/http/routes/access.ts';
import { GatewayError } from './errors/gateway-error.ts';
import type { GatewayOperation, ServedModel } from './paths/operation.ts';

export interface ModelListDependencies {
  readonly prices: Prices;
  readonly connections: Connections;
  readonly policies: PolicyCheck;
}

export async function listModels(
  { prices, connections, policies }: ModelListDependencies,
  caller: Caller,
  { list, wanted, model: only }: Extract<GatewayOperation, { kind: 'models' }>,
  now: Date,
): Promise<Reply> {
  const orgId = caller.tenantId;
  const served: ServedModel[] = [];
  for (const { model, provider, host } of await prices.list(orgId, now.getTime())) {
    // Providers do not take the prefix of a host.
    if (
      host === null &&
      (only === undefined || model === only) &&
      list.lists(provider) &&
      (await connections.candidates(orgId, wanted, model)).length > 0
    ) {
      served.push({ model, provider });
    }
  }
  if (only !== undefined && served.length === 0) {
    throw new GatewayError(
      404,
      'model_not_found',
      `The organization has no price or no connection for the model ${only}.`,
      {
        model: only,
      },
    );
  }
  const allowed = await withoutBlocked(policies, caller, served, now);
  allowed.sort((a, b) => (a.model < b.model ? -1 : 1));
  return {
    status: 200,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    body: JSON.stringify(list.bodyOf(allowed)),
  };
}

/**
 * Leaves out models that a policy blocks. Models that need an approval are listed, because calling one requests it. Rules on costs
 * and tokens see none.
 */
async function withoutBlocked(
  policies: PolicyCheck,
  { tenantId, keyId, role, attribution }: Caller,
  models: readonly ServedModel[],
  now: Date,
): Promise<ServedModel[]> {
  const { tags = null, ...labels } = attribution?.values ?? {};
  const attempts = models.map(({ model, provider }) =>
    attemptFrom(
      { ...labels, provider },
      {
        model,
        key_id: keyId,
        role,
        costNanos: 0n,
        inputTokens: 0n,
        outputTokens: 0n,
        tags,
        metadata: null,
        atMs: now.getTime(),
      },
    ),
  );
  const denials = await policies.preview(tenantId, attempts, now);
  return models.filter((_, index) => denials[index]?.code !== 'policy_blocked');
}
