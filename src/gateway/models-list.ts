/** The list of models: those that have a price and a connection. */
import type { Connections } from '../capabilities/integration/connections/index.ts';
import type { Prices } from '../capabilities/spend/models/index.ts';
import type { Reply } from '../platform/http/message/reply.ts';
import { GatewayError } from './errors/gateway-error.ts';
import type { GatewayOperation, ServedModel } from './paths/operation.ts';

export async function listModels(
  { prices, connections }: { readonly prices: Prices; readonly connections: Connections },
  orgId: string,
  { list, wanted, model: only }: Extract<GatewayOperation, { kind: 'models' }>,
  now: Date,
): Promise<Reply> {
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
  served.sort((a, b) => (a.model < b.model ? -1 : 1));
  return {
    status: 200,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    body: JSON.stringify(list.bodyOf(served)),
  };
}
