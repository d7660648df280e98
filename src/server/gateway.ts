/** The gateway with its dependencies; undefined if `SVC_GATEWAY` turns it off. */

import { join } from 'node:path';
import { decideRoute } from '../capabilities/governance/routing/index.ts';
import { increaseCallHold } from '../capabilities/insight/ledger/index.ts';
import {
  countsStore,
  createDeployments,
  createGateway,
  createOpenIncreases,
  createPaceEvents,
  type Gateway,
  type IncreaseCallHold,
} from '../gateway/index.ts';
import type { CalledAt } from '../kernel/model-hosts.ts';
import { withLastKnown } from '../platform/cache/last-known.ts';
import type { Components } from './components.ts';
import type { AppDependencies } from './dependencies.ts';

/**
 * Time in which settlements are collected for one transaction. Until a call is posted, other processes see its whole amount as held
 * and may deny other calls. A process with its own database posts before it denies, so it can collect for longer.
 */
const collectMs = { alone: 100, shared: 20 };

export function createAppGateway(deps: AppDependencies, components: Components): Gateway | undefined {
  const { config, clock, db, log, services } = deps;
  const { peekCredential, impersonation, findCredential, backoff, refusals, capabilities, edgeDependencies } =
    components;
  if (!config.gateway) {
    return undefined;
  }
  const { failOpen } = edgeDependencies;
  const lookups: GatewayLookups = {
    connections: deps.gateway?.connections ?? components.connections,
    settings: deps.gateway?.settings ?? components.gatewaySettings,
    prices: services.prices,
    capabilities,
    deployments: createDeployments(db, log),
  };
  const increaseHold = (...[orgId, holdId, body, more]: Parameters<IncreaseCallHold>) =>
    increaseCallHold(components.increaseDependencies, { orgId, holdId, body, now: clock.now(), more });
  const gateway = createGateway({
    clock,
    log,
    ...(failOpen === undefined
      ? lookups
      : lastKnownLookups(lookups, (error) => failOpen.decisions.isOutage(error))),
    runs: components.runDependencies,
    findCredential,
    peekCredential,
    findSupportSession: impersonation.find,
    recordImpersonated: impersonation.record,
    backoff,
    checkRequestRate: components.checkRequestRate,
    failOpen: failOpen && {
      isOutage: (error) => failOpen.decisions.isOutage(error),
      replay: (orgId, key) => failOpen.decisions.replay(orgId, key),
      allow: ({ body, caller, key }) =>
        failOpen.decisions.allow({
          body,
          caller,
          key,
          price: failOpen.lastKnownPrice(caller.orgId, body.model, body),
        }),
    },
    async rankModels({ caller, now, inputTokens, maxOutputTokens, capsOutput, attribution }) {
      const { parent_run_id: _, ...labels } = attribution;
      const body = { ...labels, input_tokens: inputTokens, max_output_tokens: maxOutputTokens };
      const { text } = await decideRoute(
        components.routingDependencies,
        { caller, now, body, capsOutput },
        undefined,
      );
      return rankedModels(text);
    },
    increaseHold:
      failOpen === undefined
        ? (...request) =>
            increaseHold(...request).then(
              () => true,
              () => false,
            )
        : createOpenIncreases(increaseHold, (error) => failOpen.decisions.isOutage(error)),
    learned: countsStore(db),
    paceEvents: createPaceEvents({ db, ids: deps.ids, clock, log, wants: services.events.wants }),
    directory: join(config.dataDir, 'gateway'),
    collectMs: config.databaseUrl === undefined ? collectMs.alone : collectMs.shared,
    holdLeadMs: config.gatewayHoldLeadMs,
    goOnMs: config.gatewayGoOnSeconds * 1_000,
    lookup: { allowPrivateNetworks: config.gatewayAllowPrivateNetworks },
    limits: {
      bodyBytesMax: config.gatewayBodyLimitBytes,
      callsMax: config.gatewayStreamsMax,
      drainsMax: config.gatewayDrainsMax,
    },
    baseUrl: deps.baseUrl,
    recordDenial: (denied) => refusals.note({ ...denied, operation: 'gateway.call' }),
  });
  gateway.register(components.metrics.registry);
  return gateway;
}

type GatewayLookups = Pick<
  Parameters<typeof createGateway>[0],
  'connections' | 'settings' | 'prices' | 'capabilities' | 'deployments'
>;

const lastKnownMax = 10_000;

/**
 * Wraps the lookups so that they return their last results while the database is unavailable. Otherwise a call could not be planned
 * then, and fail-open mode could not allow it.
 */
function lastKnownLookups(
  { connections, settings, prices, capabilities, deployments }: GatewayLookups,
  isOutage: (error: unknown) => boolean,
): GatewayLookups {
  const kept = <Args extends readonly unknown[], Value>(
    find: (...args: Args) => Value | Promise<Value>,
    keyOf: (...args: Args) => string,
  ) => withLastKnown(find, { keyOf, isOutage, maxEntries: lastKnownMax });
  const priceKey = (orgId: string, model: string, _atMs: number, at: CalledAt = {}) =>
    JSON.stringify([orgId, model, at.provider, at.region]);
  return {
    connections: {
      ...connections,
      candidates: kept(connections.candidates, (orgId, wanted, model) =>
        JSON.stringify([orgId, wanted, model]),
      ),
    },
    settings: { find: kept(settings.find, (orgId) => orgId) },
    prices: {
      ...prices,
      find: kept(prices.find, priceKey),
      findForCall: kept(prices.findForCall, priceKey),
    },
    capabilities: { all: kept(capabilities.all, () => '') },
    deployments: {
      ...deployments,
      models: kept(deployments.models, (deployment) => JSON.stringify(deployment)),
    },
  };
}

interface RoutedModels {
  readonly model: string;
  readonly considered: readonly { readonly model: string; readonly rank: number | null }[];
}

/** Returns the usable models of a routing decision, best first. */
function rankedModels(text: string): string[] {
  const { model, considered } = JSON.parse(text) as RoutedModels;
  const others = considered.filter(({ rank }) => rank !== null);
  return [model, ...others.sort((a, b) => (a.rank ?? 0) - (b.rank ?? 0)).map((other) => other.model)];
}
