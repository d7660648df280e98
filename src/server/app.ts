/** The wiring: every capability, page and job, in order. Nothing happens here; it only says what is there. */
import type { Tracer } from '@opentelemetry/api';
import {
  createCredentials,
  createKeyUses,
  expiringKeys,
  keyRoutes,
} from '../capabilities/access/keys/index.ts';
import { createMemberLinks, memberPages, memberRoutes } from '../capabilities/access/members/index.ts';
import { orgRoutes } from '../capabilities/access/orgs/index.ts';
import {
  consoleLinks,
  createSessions,
  returnPath,
  sessionRoutes,
  sessionTidying,
  signInPages,
  visitorOf,
} from '../capabilities/access/sessions/index.ts';
import { requiresSso, ssoPages, ssoRoutes, ssoTidying } from '../capabilities/access/sso/index.ts';
import {
  admitsUnasked,
  createConsoleEntry,
  createImpersonation,
  supportRoutes,
} from '../capabilities/access/support/index.ts';
import {
  type Actor,
  auditRoutes,
  createAttempts,
  dailyCheckpoints,
  recordChange,
  refusedAttempt,
} from '../capabilities/compliance/audit/index.ts';
import { erasureJob, erasureRoutes } from '../capabilities/compliance/erasure/index.ts';
import { emptyRemovedOrgs, orgRemovalRoutes } from '../capabilities/compliance/org-removal/index.ts';
import {
  createRegions,
  createResidencyOf,
  residencyRoutes,
} from '../capabilities/compliance/residency/index.ts';
import {
  createContents,
  emptyMonthsJob,
  registerRetentionMetrics,
  retentionJob,
  retentionRoutes,
} from '../capabilities/compliance/retention/index.ts';
import {
  approvalExpiry,
  approvalRoutes,
  createApprovals,
} from '../capabilities/governance/approvals/index.ts';
import {
  createBlockedEvents,
  createPolicyGate,
  createPolicyMemory,
  policyRoutes,
} from '../capabilities/governance/policies/index.ts';
import { createRefusals, refusalRoutes } from '../capabilities/governance/refusals/index.ts';
import { createRoutingMemory, routingRoutes } from '../capabilities/governance/routing/index.ts';
import { createSafety, safetyRoutes } from '../capabilities/governance/safety/index.ts';
import { benchmarkRoutes } from '../capabilities/insight/benchmarks/index.ts';
import { exhaustionWatch, forecastRoutes } from '../capabilities/insight/forecasts/index.ts';
import { driftWatch, ledgerRoutes } from '../capabilities/insight/ledger/index.ts';
import { usageRoutes } from '../capabilities/insight/usage/index.ts';
import {
  createCallers,
  createSignals,
  deprecationRoutes,
  deprecationsPage,
} from '../capabilities/integration/deprecations/index.ts';
import { docsPage, metaRoutes, operationGroups, rootPage } from '../capabilities/integration/meta/index.ts';
import {
  createDeliveryCounts,
  createSender,
  registerWebhookMetrics,
  webhookJobs,
  webhookRoutes,
} from '../capabilities/integration/webhooks/index.ts';
import { budgetRoutes } from '../capabilities/spend/budgets/index.ts';
import { chainRoutes } from '../capabilities/spend/chains/index.ts';
import { creditRoutes } from '../capabilities/spend/credits/index.ts';
import { customerRoutes } from '../capabilities/spend/customers/index.ts';
import { createModelCapabilities, modelRoutes } from '../capabilities/spend/models/index.ts';
import { planRoutes } from '../capabilities/spend/plans/index.ts';
import { prepaidRoutes } from '../capabilities/spend/prepaid/index.ts';
import { rateLimitRoutes } from '../capabilities/spend/rate-limits/index.ts';
import { createLatencies, createRunDigest, lastRuns, runRoutes } from '../capabilities/spend/runs/index.ts';
import { spendCapRoutes } from '../capabilities/spend/spend-caps/index.ts';
import type { Config } from '../config/settings.ts';
import { version } from '../config/version.ts';
import { consolePages } from '../console/console.ts';
import { DeprecationRegistry } from '../contract/deprecations.ts';
import { createDecisionFastPath, createFailOpenDecisions, edgeRoutes } from '../edge/index.ts';
import { ledgerJobs } from '../ledger/jobs.ts';
import { createLimitEvents } from '../ledger/limits/limit-events.ts';
import { createRequestRate } from '../ledger/limits/request-rates.ts';
import { createDriftGauge, registerLedgerMetrics } from '../ledger/metrics.ts';
import type { Database } from '../platform/db/database.ts';
import type { Faults } from '../platform/faults.ts';
import type { FastPathOptions } from '../platform/http/fast/fast-path.ts';
import type { HeadersOfUnread } from '../platform/http/message/unread-head.ts';
import { AuthBackoff } from '../platform/http/pipeline/auth-backoff.ts';
import { expiredKeysJob } from '../platform/http/pipeline/idempotency.ts';
import { createPipeline, type RequestHandler } from '../platform/http/pipeline/pipeline.ts';
import type { WriterDependencies } from '../platform/http/pipeline/write.ts';
import type { Caller } from '../platform/http/routes/access.ts';
import { rememberedOpenApi } from '../platform/http/routes/openapi.ts';
import type { Route } from '../platform/http/routes/route.ts';
import { buildRouter } from '../platform/http/routes/router.ts';
import { healthPages } from '../platform/http/server/health.ts';
import type { Ids } from '../platform/ids.ts';
import type { Job } from '../platform/jobs/jobs.ts';
import type { Log } from '../platform/log.ts';
import { createMetrics } from '../platform/observability/metrics.ts';
import { createOutboundFetch } from '../platform/outbound/fetch.ts';
import type { SharedClock } from '../platform/time/clock.ts';
import type { Services } from './services.ts';

export interface AppDependencies {
  readonly config: Config;
  readonly db: Database;
  readonly clock: SharedClock;
  readonly ids: Ids;
  readonly log: Log;
  readonly tracer: Tracer;
  readonly faults: Faults;
  readonly services: Services;
  /** Asked for at each use: with port 0 it is known only once the server listens. */
  baseUrl(): string;
  isDraining(): boolean;
  /** The shortest time between two renderings of the metrics; a second by default. */
  readonly metricsEveryMs?: number;
  /** How long a SAML response may take to verify. */
  readonly samlAnswerMsMax?: number;
}

export interface App {
  readonly routes: readonly Route[];
  readonly handler: RequestHandler;
  readonly headersOfUnread: HeadersOfUnread;
  /** For requests that Node need not read. */
  readonly fastPath: FastPathOptions;
  readonly jobs: readonly Job[];
  /** What is deprecated now. */
  readonly deprecations: DeprecationRegistry;
  /** Writes what is only in memory. Called when the last request is answered, while the database is still open. */
  finish(): Promise<void>;
}

export function createApp(deps: AppDependencies): App {
  const { config, db, clock, ids, log, tracer, faults, services, baseUrl, isDraining } = deps;
  const { ledger, orgLimits, prices, rates, processes, secrets, auditSigner, auditHeads: heads } = services;
  const docsUrl = () => config.docsUrl ?? `${baseUrl()}/docs`;
  const openApi = rememberedOpenApi(
    () => routes,
    () => ({ version, baseUrl: baseUrl(), docsUrl: docsUrl(), groups: operationGroups, deprecations }),
  );
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
  const regions = createRegions({ db, clock, log, settings: config });
  const metrics = createMetrics({
    db,
    renderEveryMs: deps.metricsEveryMs ?? 1_000,
    registerMore(registry) {
      regions?.register(registry);
      registerLedgerMetrics(registry, { db, ledger, clock, drift });
      registerWebhookMetrics(registry, db, deliveries);
      signals.register(registry);
      attempts.register(registry);
      registerRetentionMetrics(registry, db);
    },
  });
  const failsOpen = config.edgeFailMode === 'open';
  const keyUses = createKeyUses({ db, clock });
  const credentials = createCredentials(db, {
    believeLastKnown: failsOpen,
    region: config.region,
    used: keyUses.used,
  });

  const impersonation = createImpersonation({ db, clock, ids, heads, log, faults, region: config.region });
  const findCredential = async (token: string) =>
    (await credentials.find(token)) ?? regions?.findCredential(token);
  const sessions = createSessions({ db, ids, secrets, lifetimes: config, region: config.region, baseUrl });
  const backoff = new AuthBackoff(config.authBackoffAttempts, clock);
  const links = consoleLinks({ db, ids, heads, secrets, sessions, admitsUnasked, baseUrl });
  const memberLinks = createMemberLinks({ db, secrets, baseUrl, requiresSso });
  const supportEntry = createConsoleEntry({ impersonation, backoff, baseUrl });

  const failOpen = failsOpen
    ? createFailOpenDecisions({ ids, ledger, log, findPrice: prices.find })
    : undefined;
  const capabilities = createModelCapabilities(db);
  const latenciesOf = createLatencies({ db, clock });
  const policyCache = createPolicyMemory(db);
  const blocked = createBlockedEvents({ db, ids, clock });
  const timezoneOf = (orgId: string) =>
    orgLimits.peek(orgId)?.timezone ?? orgLimits.get(orgId).then(({ timezone }) => timezone);
  const policies = createPolicyGate({
    memory: policyCache,
    approvals: createApprovals({ db, ids, heads }),
    blocked,
    log,
    timezoneOf,
  });
  const customerDigest = (tenantId: string, customerId: string) =>
    secrets.sign(customerId, `customer ${tenantId}`).toString('hex');
  const edgeParts = {
    ledger,
    orgLimits,
    rates,
    findPrice: prices.find,
    failOpen,
    limitEvents,
    hasPolicies: policyCache.isGoverned,
    customerDigest,
  };
  const edge = edgeRoutes(edgeParts);

  const record: WriterDependencies['recordChange'] = (
    tx,
    { caller, address, traceId, now },
    action,
    change,
  ) => recordChange(tx, { ids, heads }, { ...actorOf(caller), address, traceId, at: now }, action, change);
  const erasures = {
    db,
    ids,
    heads,
    secrets,
    signer: auditSigner,
    ledger,
    customerDigest,
    now: () => clock.now(),
  };
  const routes: Route[] = [
    ...orgRoutes({ db, ids }),
    ...orgRemovalRoutes(),
    ...residencyRoutes({ db }),
    ...supportRoutes({ db, ids }),
    ...keyRoutes({ db, ids, environment: config.keyEnvironment }),
    ...memberRoutes({ db, ids, links: memberLinks }),
    ...ssoRoutes({ db, secrets, allowPrivateNetworks, baseUrl }),
    ...sessionRoutes({ db, sessions }),
    ...links.routes,
    ...budgetRoutes({ db, ids }),
    ...spendCapRoutes({ db, ids }),
    ...chainRoutes({ db, ids }),
    ...customerRoutes({ db, ids, ledger }),
    ...erasureRoutes({ ...erasures, log, recordChange: record }),
    ...creditRoutes({ db, ids }),
    ...prepaidRoutes({ db, ids }),
    ...planRoutes({ db, ids }),
    ...rateLimitRoutes({ db, ids, readLimitPerMinute: config.readLimitPerMinute }),
    ...modelRoutes({ db, ids, prices, capabilities, latenciesOf }),
    ...runRoutes({
      db,
      ids,
      ledger,
      orgLimits,
      prices,
      rates,
      safety,
      limitEvents,
      policies,
      contents: createContents(db, secrets),
      contentDigest: createRunDigest(secrets),
      bulkMaxRuns: config.bulkMaxRuns,
      ...(failOpen !== undefined && { importDecision: failOpen.importIntoLedger }),
    }),
    ...policyRoutes({
      db,
      ids,
      timezoneOf,
      lastRuns: (orgId, limit) => lastRuns({ db, ledger }, orgId, limit),
    }),
    ...approvalRoutes({ db }),
    ...safetyRoutes({ db, ids, safety }),
    ...refusalRoutes({ db }),
    ...routingRoutes({
      db,
      ids,
      ledger,
      orgLimits,
      rates,
      limitEvents,
      prices,
      capabilities,
      policies,
      latenciesOf,
      residencyOf: createResidencyOf(db),
      memory: createRoutingMemory(db),
      customerDigest,
    }),
    ...usageRoutes({ db, spoolDir: config.spoolDir }),
    ...benchmarkRoutes({ db, ids, floor: config.benchmarkFloor }),
    ...webhookRoutes({ db, ids, secrets, allowPrivateNetworks }),
    ...retentionRoutes({ db }),
    ...auditRoutes({ db, ids, heads, signer: auditSigner, softwareVersion: version }),
    ...forecastRoutes({ db, ids, ledger, orgLimits, prices }),
    ...ledgerRoutes({ db, ledger, drift }),
    ...edge,
    ...deprecationRoutes({ db, registry: deprecations, callers, docsUrl }),
    ...metaRoutes(openApi),
  ];
  const pages = [
    ...healthPages(db, metrics, isDraining),
    rootPage,
    docsPage(openApi),
    deprecationsPage(deprecations),
    ...signInPages({ db, ids, heads, sessions, backoff, findCredential, requiresSso, attempts }),
    ...links.pages,
    ...memberPages({ db, ids, heads, sessions, links: memberLinks }),
    ...ssoPages({
      db,
      clock,
      ids,
      heads,
      log,
      secrets,
      sessions,
      backoff,
      attempts,
      allowPrivateNetworks,
      fetch: createOutboundFetch({ allowPrivateNetworks }),
      samlAnswerMsMax: deps.samlAnswerMsMax,
      baseUrl,
    }),
    ...(regions?.pages ?? []),
    ...supportEntry.pages,
    ...consolePages({
      ask: (request) => pipeline.call(request),
      examine: (request) => pipeline.checkAccess(request),
      visitorOf: async (visit) => (await supportEntry.visitorOf(visit)) ?? visitorOf(sessions, visit),
      returnPath,
    }),
  ];

  const pipeline = createPipeline({
    router: buildRouter(routes, pages),
    db,
    clock,
    log,
    faults,
    metrics,
    tracer,
    backoff,
    settings: config,
    // Not for signing in: what a support session does goes by its token alone.
    findCredential: (token) =>
      credentials.peek(token) ??
      impersonation.find(token).then((impersonated) => impersonated ?? findCredential(token)),
    findSupportSession: (token) => impersonation.find(token),
    recordImpersonated: (request) => impersonation.record(request),
    sessions,
    baseUrl,
    regions,
    takeRequest: createRequestRate({
      limitEvents,
      limiter: rates,
      orgLimits,
      readLimitPerMinute: config.readLimitPerMinute,
    }),
    signalDeprecation: signals.signal,
    noteRefusal: (error, route, caller, body) => refusals.note(error, route.id, caller, body),
    onRefusedCall(call) {
      const attempt = refusedAttempt(call);
      if (attempt !== undefined) {
        attempts.note(attempt);
      }
    },
    recordChange: record,
    customerDigest,
  });

  const [decision] = edge;
  // Traced requests go the common way: a span costs more than a decision.
  const shortcut =
    decision === undefined || config.otlpEndpoint !== undefined || config.otlpTracesEndpoint !== undefined
      ? undefined
      : createDecisionFastPath({
          ...edgeParts,
          route: decision,
          clock,
          log,
          counts: metrics.countsOf(decision.path),
          trustedProxies: config.trustedProxies,
          bodyLimitBytes: config.bodyLimitBytes,
          peekCredential: (token) => credentials.peek(token),
          isDeprecated: () => deprecations.find(decision.path) !== undefined,
        });

  const jobs: Job[] = [
    expiredKeysJob(db),
    emptyRemovedOrgs(db, clock),
    ...ledgerJobs({ db, clock, ledger }),
    driftWatch({ db, ledger, clock, log, drift }),
    ...(failOpen === undefined ? [] : [failOpen.job]),
    limitEvents.job,
    refusals.job,
    blocked.job,
    approvalExpiry({ db, ids, heads, clock }),
    expiringKeys({ db, ids, clock }),
    exhaustionWatch({ db, ids, clock, ledger, orgLimits, wants: services.events.wants }),
    keyUses.job,
    ...webhookJobs({
      db,
      clock,
      ids,
      heads,
      log,
      faults,
      secrets,
      docsUrl,
      counts: deliveries,
      sender: createSender({ allowPrivateNetworks }),
      userAgent: `Purser/${version}`,
    }),
    ...processes.jobs,
    ...(regions?.jobs ?? []),
    callers.job,
    sessionTidying({ db, clock }),
    ssoTidying({ db, clock }),
    attempts.job,
    retentionJob({ db, ids, heads, clock, faults, log, signer: auditSigner }),
    emptyMonthsJob({ db, clock }),
    erasureJob({ ...erasures, log }),
    dailyCheckpoints({ db, ids, heads, signer: auditSigner, clock, log }),
  ];
  return {
    routes,
    handler: pipeline.handle,
    headersOfUnread: pipeline.headersOfUnread,
    fastPath: { fastHandler: shortcut, serve: pipeline.serve },
    jobs,
    deprecations,
    async finish() {
      await callers.flush();
      await attempts.flush();
    },
  };
}

function actorOf({ keyId, role, session, support }: Caller): Pick<Actor, 'kind' | 'id'> {
  if (support !== undefined) {
    return { kind: 'support', id: support.operatorKeyId };
  }
  return { kind: session?.actor ?? (role === 'operator' ? 'operator' : 'key'), id: keyId };
}
