/** Components that routes, pages, jobs and the pipeline share: caches, write-behind buffers, sessions and checks. */
import { createMemberMails } from '../capabilities/access/members/index.ts';
import {
  actorOf,
  type ChangeRecord,
  createAttempts,
  recordChange,
  recordChanges,
} from '../capabilities/compliance/audit/index.ts';
import { createRegions } from '../capabilities/compliance/residency/index.ts';
import { registerRetentionMetrics } from '../capabilities/compliance/retention/index.ts';
import { createRefusals } from '../capabilities/governance/refusals/index.ts';
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
import { registerPriceMetrics } from '../capabilities/spend/price-updates/index.ts';
import { DeprecationRegistry } from '../contract/deprecations.ts';
import { createDriftGauge, registerLedgerMetrics } from '../ledger/metrics.ts';
import { createSurroundings } from '../platform/cloud-credentials/surroundings.ts';
import { createTokenCache } from '../platform/cloud-credentials/token-cache.ts';
import type { Transaction } from '../platform/db/database.ts';
import { createKeyReleases } from '../platform/http/pipeline/key-releases.ts';
import type { WriterDependencies } from '../platform/http/pipeline/write.ts';
import { createJobHistory } from '../platform/jobs/job-history.ts';
import { registerLogMetrics } from '../platform/log-destination.ts';
import { createMailState } from '../platform/mail/mail-state.ts';
import { createMailer } from '../platform/mail/mailer.ts';
import { createMetrics } from '../platform/observability/metrics.ts';
import { createAccessComponents } from './access-components.ts';
import { createDecisionComponents } from './decision-components.ts';
import type { AppDependencies } from './dependencies.ts';

export function createComponents(deps: AppDependencies) {
  const { config, db, clock, ids, log, faults, services, baseUrl } = deps;
  const { ledger, secrets, auditSigner, auditHeads: heads } = services;
  const nowMs = () => clock.now().getTime();
  const docsUrl = () => config.docsUrl ?? `${baseUrl()}/docs`;
  const deprecations = new DeprecationRegistry();
  const callers = createCallers({ db, clock });
  const signals = createSignals({ registry: deprecations, callers, docsUrl });
  const drift = createDriftGauge();
  const deliveries = createDeliveryCounts();
  const attempts = createAttempts({ db, ids, heads, clock, log });
  const mailer = createMailer({ server: config.smtpServer, from: config.smtpFrom });
  const breakers = createBreakers(nowMs);
  const providerUrls = defaultUrlsOf(config);
  const tokens = createTokenCache({ nowMs });
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
      registerConnectionMetrics(registry, breakers, tokens);
      registerRetentionMetrics(registry, db);
      registerLogMetrics(registry);
    },
  });
  const decisions = createDecisionComponents(deps);
  const recordCallersChange: WriterDependencies['recordChange'] = (tx, context, action, change) =>
    recordChange(tx, { ids, heads }, actorOf(context), action, change);
  const recordCallersChanges = (
    tx: Transaction,
    context: Parameters<typeof actorOf>[0],
    records: readonly ChangeRecord[],
  ) => recordChanges(tx, { ids, heads }, actorOf(context), records);

  return {
    ...createAccessComponents(deps, regions),
    ...decisions,
    mailer,
    mailState: createMailState(mailer, nowMs),
    memberMails: createMemberMails({ db, ids, clock, log, faults, secrets, mailer, baseUrl }),
    unsubscribing: createUnsubscribing(secrets, baseUrl),
    buildMessage: createMessages({ db, baseUrl }),
    jobHistory: createJobHistory(clock),
    startedAt: clock.now(),
    docsUrl,
    deprecations,
    callers,
    signals,
    drift,
    deliveries,
    refusals: createRefusals({ db, ids, clock }),
    attempts,
    allowPrivateNetworks: config.webhookAllowPrivateNetworks,
    regions,
    metrics,
    keyReleases: createKeyReleases({ db, log, takeoverSeconds: config.idempotencyTakeoverSeconds }),
    breakers,
    providerUrls,
    tokens,
    connections: createConnections({
      db,
      secrets,
      breakers,
      tokens,
      surroundings: createSurroundings({
        variables: config.gatewayCloud.variables,
        tokenFiles: config.gatewayIdentityTokenFiles,
        nowMs,
      }),
      cloudIdentities: config.gatewayCloud.identities,
      cloudIdentityUrls: config.gatewayCloudIdentityUrls,
      keyVariables: config.gatewayApiKeys,
      defaultUrls: providerUrls,
      nowMs,
    }),
    gatewaySettings: createGatewaySettings(db),
    recordCallersChange,
    recordCallersChanges,
    erasureDependencies: {
      db,
      ids,
      heads,
      secrets,
      signer: auditSigner,
      ledger,
      customerDigest: decisions.customerDigest,
      now: () => clock.now(),
    },
  };
}

export type Components = ReturnType<typeof createComponents>;
