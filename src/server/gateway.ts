/** The gateway with its dependencies; undefined if `SVC_GATEWAY` turns it off. */
import { join } from 'node:path';
import { decideRoute } from '../capabilities/governance/routing/index.ts';
import { increaseHold } from '../capabilities/insight/ledger/index.ts';
import { createGateway, type Gateway } from '../gateway/index.ts';
import type { Components } from './components.ts';
import type { AppDependencies } from './dependencies.ts';

/**
 * Other processes see the amount of a call as held until it is posted, and may deny a call meanwhile. A process that has its database to
 * itself posts before it denies, so it can wait for more calls to post together.
 */
const collectMs = { alone: 100, shared: 20 };

export function createAppGateway(deps: AppDependencies, components: Components): Gateway | undefined {
  const { config, clock, log, services } = deps;
  const { credentials, findCredential, backoff, refusals, capabilities, edgeDependencies } = components;
  if (!config.gateway) {
    return undefined;
  }
  const { failOpen } = edgeDependencies;
  const gateway = createGateway({
    clock,
    log,
    connections: deps.gateway?.connections ?? components.connections,
    settings: deps.gateway?.settings ?? components.gatewaySettings,
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
    async rankModels({ caller, now, inputTokens, maxOutputTokens, attribution }) {
      const { parent_run_id: _, ...labels } = attribution;
      const body = { ...labels, input_tokens: inputTokens, max_output_tokens: maxOutputTokens };
      const { text } = await decideRoute(components.routingDependencies, { caller, now, body }, undefined);
      return rankedModels(text);
    },
    increaseHold: (orgId, holdId, outputTokens) =>
      increaseHold(components.increaseDependencies, {
        orgId,
        holdId,
        body: { output_tokens: outputTokens },
        now: clock.now(),
        storeResponse: undefined,
        requestId: null,
      }).then(
        () => true,
        () => false,
      ),
    directory: join(config.dataDir, 'gateway'),
    collectMs: config.databaseUrl === undefined ? collectMs.alone : collectMs.shared,
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

interface RoutedModels {
  readonly model: string;
  readonly considered: readonly { readonly model: string; readonly rank: number | null }[];
}

/** Returns the models of a routing decision that may be used, the best first. */
function rankedModels(text: string): string[] {
  const { model, considered } = JSON.parse(text) as RoutedModels;
  const others = considered.filter(({ rank }) => rank !== null);
  return [model, ...others.sort((a, b) => (a.rank ?? 0) - (b.rank ?? 0)).map((other) => other.model)];
}
