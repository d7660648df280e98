/** Learns the model behind a deployment from a response. */
import { type Connection, mayBeDeployment } from '../capabilities/integration/connections/index.ts';
import type { PriceInForce } from '../capabilities/spend/models/index.ts';
import { otherModel } from '../kernel/providers/call-usage.ts';
import type { AdmittedRequest } from './admitted-request.ts';
import { placeOf } from './call-price.ts';
import type { GatewayContext } from './gateway-context.ts';

/** Only deployments are learned. A model of another provider is held at the price of its name, whatever its responses say. */
export function learnDeployment(
  { prices, deployments }: Pick<GatewayContext, 'prices' | 'deployments'>,
  { plan, caller, request }: AdmittedRequest,
  connection: Connection | undefined,
  named: string | undefined,
): void {
  const model = otherModel(named, plan.model);
  if (
    model === undefined ||
    connection === undefined ||
    plan.hasOwnPrice ||
    !mayBeDeployment(connection, plan.model)
  ) {
    return;
  }
  const orgId = caller.tenantId;
  const nowMs = request.now.getTime();
  const deployment = { orgId, connectionId: connection.id, name: plan.model };
  // Dated names of a model have one price, so that they are known as one model.
  const learn = (price: PriceInForce | undefined) =>
    deployments.learn(deployment, price?.model ?? model, nowMs);
  const found = prices.find(orgId, model, nowMs, placeOf(connection, plan.listedProvider));
  if (found instanceof Promise) {
    found.then(learn, () => undefined);
  } else {
    learn(found);
  }
}
