/** The components that routes, pages, jobs and the pipeline share: caches, write-behind buffers, sessions, checks. */
import { createCredentials, createKeyUses, createTokenLookups } from '../capabilities/access/keys/index.ts';
import { createMemberLinks, createMemberMails } from '../capabilities/access/members/index.ts';
import { consoleLinks, createSessions } from '../capabilities/access/sessions/index.ts';
import { requiresSso } from '../capabilities/access/sso/index.ts';
import {
  admitsWithoutApproval,
  createConsoleEntry,
  createImpersonation,
} from '../capabilities/access/support/index.ts';
import {
  actorOf,
  type ChangeRecord,
  createAttempts,
  recordChange,
  recordChanges,
} from '../capabilities/compliance/audit/index.ts';
import { createCustomerDigest } from '../capabilities/compliance/erasure/index.ts';
import { createRegions, createResidencyOf } from '../capabilities/compliance/residency/index.ts';
import { createContents, registerRetentionMetrics } from '../capabilities/compliance/retention/index.ts';
import { createApprovals } from '../capabilities/governance/approvals/index.ts';
import {
  createBlockedEvents,
  createPolicyCache,
  createPolicyCheck,
} from '../capabilities/governance/policies/index.ts';
import { createRefusals } from '../capabilities/governance/refusals/index.ts';
import { createRoutingCache } from '../capabilities/governance/routing/index.ts';
import { createSafety } from '../capabilities/governance/safety/index.ts';
import { createMessages, createUnsubscribing } from '../capabilities/integration/alerts/index.ts';
import {
  createBreakers,
  createConnections,
  createGatewaySettings,
  defaultUrlsOf,
  registerConnectionMetrics,
} from '../capabilities/integration/connections/index.ts';
import { createCallers, createSignals } from '../capabilities/integration/deprecations/index.ts';
import { createDeliveryCounts, registerWebhookMetrics } from '../capabilities/integration/webhooks/index.ts';
import { createModelCapabilities } from '../capabilities/spend/models/index.ts';
import { registerPriceMetrics } from '../capabilities/spend/price-updates/index.ts';
import { createLatencies, createRunDigest } from '../capabilities/spend/runs/index.ts';
import { DeprecationRegistry } from '../contract/deprecations.ts';
import { createLastKnownPrices } from '../edge/index.ts';
import { createLimitEvents } from '../ledger/limits/limit-events.ts';
import { createTimezoneOf } from '../ledger/limits/org-timezone.ts';
import { createRequestRate } from '../ledger/limits/request-rates.ts';
import { createDriftGauge, registerLedgerMetrics } from '../ledger/metrics.ts';
import type { Transaction } from '../platform/db/database.ts';
import { AuthBackoff } from '../platform/http/pipeline/auth-backoff.ts';
import { createKeyReleases } from '../platform/http/pipeline/key-releases.ts';
import type { WriterDependencies } from '../platform/http/pipeline/write.ts';
import { createJobHistory } from '../platform/jobs/job-history.ts';
import { registerLogMetrics } from '../platform/log-destination.ts';
import { createMailState } from '../platform/mail/mail-state.ts';
import { createMailer } from '../platform/mail/mailer.ts';
import { createMetrics } from '../platform/observability/metrics.ts';
import type { AppDependencies } from './dependencies.ts';

export function createComponents(deps: AppDependencies) {
  const { config, db, clock, ids, log, faults, services, baseUrl } = deps;
  const { ledger, orgLimits, prices, rates, secrets, auditSigner, auditHeads: heads } = services;
  const docsUrl = () => config.docsUrl ?? `${baseUrl()}/docs`;
  const deprecations = new DeprecationRegistry();
  const callers = createCallers({ db, clock });
  const signals = createSignals({ registry: deprecations, callers, docsUrl });
  const drift = createDriftGauge();
  const deliveries = createDeliveryCounts();
  const limitEvents = createLimitEvents({ db, ids, clock, orgLimits });
  const refusals = createRefusals({ db, ids, clock });
  const safety = createSafety(db);
  const attempts = createAttempts({ db, ids, heads, clock, log });
  const allowPrivateNetworks = config.webhookAllowPrivateNetworks;
  const mailer = createMailer({ server: config.smtpServer, from: config.smtpFrom });
  const mailState = createMailState(mailer, () => clock.now().getTime());
  const unsubscribing = createUnsubscribing(secrets, baseUrl);
  const buildMessage = createMessages({ db, baseUrl });
  const breakers = createBreakers(() => clock.now().getTime());
  const regions = createRegions({ db, clock, log, settings: config });
  const metrics = createMetrics({
    db,
    renderEveryMs: deps.metricsEveryMs ?? 1_000,
    registerMore(registry) {
      regions?.register(registry);
      registerLedgerMetrics(registry, { db, ledger: ledger.maintenance, clock, drift });
      services.failOpen.register(registry);
      registerWebhookMetrics(registry, db, deliveries);
      registerPriceMetrics(registry, db);
      signals.register(registry);
      attempts.register(registry);
      registerConnectionMetrics(registry, breakers);
      registerRetentionMetrics(registry, db);
      registerLogMetrics(registry);
    },
  });
  const checkRequestRate = createRequestRate({
    limitEvents,
    limiter: rates,
    orgLimits,
    readLimitPerMinute: config.readLimitPerMinute,
  });
  const failsOpen = config.edgeFailMode === 'open';
  const keyUses = createKeyUses({ db, clock });
  const lookups = createTokenLookups();
  const { region } = config;
  const credentials = createCredentials(db, {
    acceptLastKnown: failsOpen,
    region,
    used: keyUses.used,
    lookups,
  });

  const impersonation = createImpersonation({ db, clock, ids, heads, log, faults, region, lookups });
  const findCredential = async (token: string, address: string) =>
    (await credentials.find(token, address)) ??
    (regions && lookups.run(address, () => regions.findCredential(token)));
  const sessions = createSessions({ db, ids, secrets, lifetimes: config, region, baseUrl });
  const backoff = new AuthBackoff(config.authBackoffAttempts, clock);
  const links = consoleLinks({ db, ids, heads, secrets, sessions, admitsWithoutApproval, baseUrl });
  const memberLinks = createMemberLinks({ db, secrets, baseUrl, requiresSso });
  const memberMails = createMemberMails({ db, ids, clock, log, faults, secrets, mailer, baseUrl });
  const supportEntry = createConsoleEntry({ impersonation, backoff, baseUrl });

  const lastKnownPrices = failsOpen ? createLastKnownPrices(prices.findForCall) : undefined;
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
  const keyReleases = createKeyReleases({ db, log, takeoverSeconds: config.idempotencyTakeoverSeconds });
  const runDependencies = {
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
    failOpen: services.failOpen,
  };
  const routingDependencies = {
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
  };
  const increaseDependencies = {
    db,
    ledger,
    orgLimits,
    rates,
    limitEvents,
    failOpen: services.failOpen,
    findTariff: prices.version,
  };
  const edgeDependencies = {
    ledger,
    orgLimits,
    rates,
    findPrice: lastKnownPrices?.find ?? prices.findForCall,
    findMaxOutputTokens: async (model: string) => {
      const most = (await capabilities.all()).get(model)?.max_output_tokens;
      return most == null ? undefined : Number(most);
    },
    failOpen: lastKnownPrices && { decisions: services.failOpen, lastKnownPrice: lastKnownPrices.get },
    limitEvents,
    hasPolicies: policyCache.hasPolicies,
    customerDigest,
    pendingHolds: new WeakMap(),
  };

  const providerUrls = defaultUrlsOf(config);
  const connections = createConnections({
    db,
    secrets,
    breakers,
    keyVariables: config.gatewayApiKeys,
    defaultUrls: providerUrls,
    nowMs: () => clock.now().getTime(),
  });
  const gatewaySettings = createGatewaySettings(db);

  const recordCallersChange: WriterDependencies['recordChange'] = (tx, context, action, change) =>
    recordChange(tx, { ids, heads }, actorOf(context), action, change);
  const recordCallersChanges = (
    tx: Transaction,
    context: Parameters<typeof actorOf>[0],
    records: readonly ChangeRecord[],
  ) => recordChanges(tx, { ids, heads }, actorOf(context), records);
  const erasureDependencies = {
    db,
    ids,
    heads,
    secrets,
    signer: auditSigner,
    ledger,
    customerDigest,
    now: () => clock.now(),
  };

  const jobHistory = createJobHistory(clock);
  const startedAt = clock.now();

  return {
    mailer,
    mailState,
    memberMails,
    unsubscribing,
    buildMessage,
    jobHistory,
    startedAt,
    docsUrl,
    deprecations,
    callers,
    signals,
    drift,
    deliveries,
    limitEvents,
    refusals,
    safety,
    attempts,
    allowPrivateNetworks,
    regions,
    metrics,
    keyUses,
    credentials,
    impersonation,
    findCredential,
    sessions,
    backoff,
    links,
    memberLinks,
    supportEntry,
    capabilities,
    latenciesOf,
    policyCache,
    blocked,
    timezoneOf,
    policies,
    customerDigest,
    keyReleases,
    checkRequestRate,
    runDependencies,
    routingDependencies,
    increaseDependencies,
    edgeDependencies,
    breakers,
    providerUrls,
    connections,
    gatewaySettings,
    recordCallersChange,
    recordCallersChanges,
    erasureDependencies,
  };
}

export type Components = ReturnType<typeof createComponents>;
