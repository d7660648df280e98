/** The components of decisions: the dependencies of runs, routing, hold increases and the decision endpoint. */
import { createCustomerDigest } from '../capabilities/compliance/erasure/index.ts';
import { createResidencyOf } from '../capabilities/compliance/residency/index.ts';
import { createContents } from '../capabilities/compliance/retention/index.ts';
import { createApprovals } from '../capabilities/governance/approvals/index.ts';
import {
  createBlockedEvents,
  createPolicyCache,
  createPolicyCheck,
} from '../capabilities/governance/policies/index.ts';
import { createRoutingCache } from '../capabilities/governance/routing/index.ts';
import { createSafety } from '../capabilities/governance/safety/index.ts';
import { createModelCapabilities } from '../capabilities/spend/models/index.ts';
import { createLatencies, createRunDigest } from '../capabilities/spend/runs/index.ts';
import { createLastKnownPrices } from '../edge/index.ts';
import { createLimitEvents } from '../ledger/limits/limit-events.ts';
import { createTimezoneOf } from '../ledger/limits/org-timezone.ts';
import { createRequestRate } from '../ledger/limits/request-rates.ts';
import type { AppDependencies } from './dependencies.ts';

export function createDecisionComponents({ config, db, clock, ids, log, services }: AppDependencies) {
  const { ledger, orgLimits, prices, rates, secrets, auditHeads: heads, failOpen } = services;
  const limitEvents = createLimitEvents({ db, ids, clock, orgLimits });
  const safety = createSafety(db);
  const lastKnownPrices =
    config.edgeFailMode === 'open' ? createLastKnownPrices(prices.findForCall) : undefined;
  const capabilities = createModelCapabilities(db);
  const latenciesOf = createLatencies({ db, clock });
  const policyCache = createPolicyCache(db);
  const blocked = createBlockedEvents({ db, ids, clock });
  const timezoneOf = createTimezoneOf(orgLimits);
  const policies = createPolicyCheck({
    memory: policyCache,
    approvals: createApprovals({ db, ids, heads }),
    blocked,
    log,
    timezoneOf,
  });
  const customerDigest = createCustomerDigest(secrets);
  return {
    limitEvents,
    safety,
    capabilities,
    latenciesOf,
    blocked,
    timezoneOf,
    customerDigest,
    checkRequestRate: createRequestRate({
      limitEvents,
      limiter: rates,
      orgLimits,
      readLimitPerMinute: config.readLimitPerMinute,
    }),
    runDependencies: {
      db,
      ids,
      log,
      ledger,
      orgLimits,
      prices,
      rates,
      safety,
      limitEvents,
      policies,
      contents: createContents(db, secrets),
      contentDigest: createRunDigest(secrets),
      failOpen,
    },
    routingDependencies: {
      db,
      ledger,
      orgLimits,
      rates,
      limitEvents,
      prices,
      capabilities,
      policies,
      latenciesOf,
      residencyOf: createResidencyOf(db),
      memory: createRoutingCache(db),
      customerDigest,
    },
    increaseDependencies: {
      db,
      ledger,
      orgLimits,
      rates,
      limitEvents,
      failOpen,
      findTariff: prices.version,
    },
    edgeDependencies: {
      ledger,
      orgLimits,
      rates,
      findPrice: lastKnownPrices?.find ?? prices.findForCall,
      findMaxOutputTokens: async (model: string) => {
        const most = (await capabilities.all()).get(model)?.max_output_tokens;
        return most == null ? undefined : Number(most);
      },
      failOpen: lastKnownPrices && { decisions: failOpen, lastKnownPrice: lastKnownPrices.get },
      limitEvents,
      hasPolicies: policyCache.hasPolicies,
      customerDigest,
      pendingHolds: new WeakMap(),
    },
  };
}
