/** The gateway with its dependencies; undefined if `SVC_GATEWAY` turns it off. */
import { join } from 'node:path';
import { createGateway, type Gateway } from '../gateway/index.ts';
import type { Components } from './components.ts';
import type { AppDependencies } from './dependencies.ts';

export function createAppGateway(deps: AppDependencies, components: Components): Gateway | undefined {
  const { config, clock, log, services } = deps;
  const { credentials, findCredential, backoff, refusals, capabilities, edgeDependencies } = components;
  if (!config.gateway || deps.gateway === undefined) {
    return undefined;
  }
  const { failOpen } = edgeDependencies;
  const gateway = createGateway({
    clock,
    log,
    ...deps.gateway,
    runs: components.runDependencies,
    prices: services.prices,
    capabilities,
    findCredential,
    peekCredential: (token) => credentials.peek(token),
    backoff,
    checkRequestRate: components.checkRequestRate,
    failOpen: failOpen && {
      isOutage: (error) => failOpen.decisions.isOutage(error),
      allow: ({ body, caller, now }) =>
        failOpen.decisions.allow({
          body,
          caller,
          now,
          key: undefined,
          price: failOpen.lastKnownPrice(caller.orgId, body.model),
        }),
    },
    directory: join(config.dataDir, 'gateway'),
    lookup: { allowPrivateNetworks: config.gatewayAllowPrivateNetworks },
    limits: {
      bodyBytesMax: config.gatewayBodyLimitBytes,
      callsMax: config.gatewayStreamsMax,
      drainsMax: config.gatewayDrainsMax,
    },
    recordDenial: (error, caller, body) => refusals.note(error, 'gateway.call', caller, body),
  });
  gateway.register(components.metrics.registry);
  return gateway;
}
