/** Lists every route of the API, in the order of the documentation. */

import { keyRoutes, keyRuleRoutes } from '../capabilities/access/keys/index.ts';
import { memberRoutes } from '../capabilities/access/members/index.ts';
import { orgRoutes } from '../capabilities/access/orgs/index.ts';
import { sessionRoutes } from '../capabilities/access/sessions/index.ts';
import { ssoRoutes, ssoTestRoutes } from '../capabilities/access/sso/index.ts';
import { supportRoutes } from '../capabilities/access/support/index.ts';
import { toolSignInRoutes } from '../capabilities/access/tool-sign-ins/index.ts';
import { auditRoutes } from '../capabilities/compliance/audit/index.ts';
import { erasureRoutes } from '../capabilities/compliance/erasure/index.ts';
import { keyRotationRoutes } from '../capabilities/compliance/key-rotation/index.ts';
import { orgRemovalRoutes } from '../capabilities/compliance/org-removal/index.ts';
import { residencyRoutes } from '../capabilities/compliance/residency/index.ts';
import { retentionRoutes } from '../capabilities/compliance/retention/index.ts';
import { snapshotRoutes } from '../capabilities/compliance/snapshots/index.ts';
import { approvalRoutes } from '../capabilities/governance/approvals/index.ts';
import { policyRoutes } from '../capabilities/governance/policies/index.ts';
import { refusalRoutes } from '../capabilities/governance/refusals/index.ts';
import { routingRoutes } from '../capabilities/governance/routing/index.ts';
import { safetyRoutes } from '../capabilities/governance/safety/index.ts';
import { benchmarkRoutes } from '../capabilities/insight/benchmarks/index.ts';
import { focusRoutes } from '../capabilities/insight/focus/index.ts';
import { forecastRoutes } from '../capabilities/insight/forecasts/index.ts';
import { installationRoutes } from '../capabilities/insight/installation/index.ts';
import { ledgerRoutes } from '../capabilities/insight/ledger/index.ts';
import { orgSummaryRoutes } from '../capabilities/insight/org-summaries/index.ts';
import { statementRoutes } from '../capabilities/insight/statements/index.ts';
import { createSpooledExports, usageRoutes } from '../capabilities/insight/usage/index.ts';
import { configurationRoutes } from '../capabilities/integration/configuration/index.ts';
import { connectionRoutes } from '../capabilities/integration/connections/index.ts';
import { deprecationRoutes } from '../capabilities/integration/deprecations/index.ts';
import { emailSubscriptionRoutes } from '../capabilities/integration/email-subscriptions/index.ts';
import { metaRoutes } from '../capabilities/integration/meta/index.ts';
import { subscribersOf, webhookRoutes } from '../capabilities/integration/webhooks/index.ts';
import { budgetRoutes } from '../capabilities/spend/budgets/index.ts';
import { chainRoutes } from '../capabilities/spend/chains/index.ts';
import { creditRoutes } from '../capabilities/spend/credits/index.ts';
import { customerRoutes } from '../capabilities/spend/customers/index.ts';
import { modelRoutes } from '../capabilities/spend/models/index.ts';
import { planRoutes } from '../capabilities/spend/plans/index.ts';
import { prepaidRoutes } from '../capabilities/spend/prepaid/index.ts';
import { priceUpdateRoutes, supersedeForOperator } from '../capabilities/spend/price-updates/index.ts';
import { raiseRequestRoutes, raiseRoutes } from '../capabilities/spend/raises/index.ts';
import { rateLimitRoutes } from '../capabilities/spend/rate-limits/index.ts';
import { lastRuns, runRoutes } from '../capabilities/spend/runs/index.ts';
import { spendCapRoutes } from '../capabilities/spend/spend-caps/index.ts';
import { unpricedModelRoutes } from '../capabilities/spend/unpriced-models/index.ts';
import { version } from '../config/version.ts';
import { edgeRoutes } from '../edge/index.ts';
import { type Gateway, gatewayCallRoutes } from '../gateway/index.ts';
import type { Route } from '../platform/http/routes/route.ts';
import { unreadyReasonsOf } from '../platform/http/server/process-health.ts';
import { secretsKeyFile } from '../platform/secrets/key-ring.ts';
import type { Components } from './components.ts';
import type { AppDependencies } from './dependencies.ts';

/** Creates the routes. `gateway` is undefined if it is turned off; its routes exist nevertheless. */
export function createRoutes(
  deps: AppDependencies,
  components: Components,
  gateway: Gateway | undefined,
  openApi: () => object,
): Route[] {
  const { config, db, ids, log, baseUrl, services } = deps;
  const { ledger, orgLimits, prices, secrets, auditSigner, auditHeads: heads } = services;
  const { reads } = ledger;
  const {
    docsUrl,
    mailer,
    mailState,
    memberMails,
    deprecations,
    callers,
    drift,
    safety,
    allowPrivateNetworks,
    sessions,
    links,
    memberLinks,
    capabilities,
    latenciesOf,
    routingDependencies,
    increaseDependencies,
    breakers,
    providerUrls,
    tokens,
    runDependencies,
    edgeDependencies,
    recordCallersChange,
    recordCallersChanges,
    timezoneOf,
    erasureDependencies,
    metrics,
    jobHistory,
    startedAt,
  } = components;
  const exports = createSpooledExports({ db, spoolDir: config.spoolDir });
  const routes: Route[] = [
    ...orgRoutes({ db, ids }),
    ...orgSummaryRoutes({ db, ledger: reads }),
    ...orgRemovalRoutes(),
    ...residencyRoutes({ db }),
    ...supportRoutes({ db, ids }),
    ...keyRoutes({ db, ids, environment: config.keyEnvironment }),
    ...keyRuleRoutes({ db }),
    ...memberRoutes({ db, ids, links: memberLinks, mails: memberMails }),
    ...ssoRoutes({ db, secrets, allowPrivateNetworks, baseUrl }),
    ...ssoTestRoutes({ db, ids, secrets, allowPrivateNetworks, baseUrl }),
    ...sessionRoutes({ db, sessions }),
    ...toolSignInRoutes({ db }),
    ...links.routes,
    ...budgetRoutes({ db, ids }),
    ...spendCapRoutes({ db, ids }),
    ...raiseRoutes({ db, ids }),
    ...raiseRequestRoutes({ db, ids }),
    ...chainRoutes({ db, ids }),
    ...customerRoutes({ db, ids, ledger: reads }),
    ...erasureRoutes({ ...erasureDependencies, log, recordChange: recordCallersChange }),
    ...creditRoutes({ db, ids }),
    ...prepaidRoutes({ db, ids }),
    ...planRoutes({ db, ids }),
    ...rateLimitRoutes({ db, ids, readLimitPerMinute: config.readLimitPerMinute }),
    ...modelRoutes({
      db,
      ids,
      prices,
      capabilities,
      latenciesOf,
      unpricedPolicy: prices.unpricedPolicy,
      supersedePending: supersedeForOperator,
    }),
    ...priceUpdateRoutes({ db, ids, subscribersOf }),
    ...unpricedModelRoutes({ db, ids, prices }),
    ...runRoutes({
      ...runDependencies,
      bulkMaxRuns: config.bulkMaxRuns,
      recordChange: recordCallersChange,
    }),
    ...policyRoutes({
      db,
      ids,
      timezoneOf,
      lastRuns: (orgId, limit) => lastRuns({ db, ledger: reads }, orgId, limit),
    }),
    ...approvalRoutes({ db }),
    ...safetyRoutes({ db, ids, safety }),
    ...refusalRoutes({ db }),
    ...routingRoutes({ ...routingDependencies, ids }),
    ...usageRoutes({ db, exports }),
    ...focusRoutes({ db, exports, prices }),
    ...statementRoutes({ db, ids, ledger, recordChange: recordCallersChange }),
    ...benchmarkRoutes({ db, ids, floor: config.benchmarkFloor }),
    ...connectionRoutes({
      db,
      ids,
      secrets,
      breakers,
      tokens,
      allowPrivateNetworks: config.gatewayAllowPrivateNetworks,
      cloudIdentities: config.gatewayCloud.identities,
      cloudIdentityUrls: config.gatewayCloudIdentityUrls,
      keyVariables: config.gatewayApiKeys,
      defaultUrls: providerUrls,
    }),
    ...gatewayCallRoutes({
      callsInProgress: () => gateway?.callsInProgress() ?? [],
      processes: services.processes,
    }),
    ...webhookRoutes({ db, ids, secrets, allowPrivateNetworks }),
    ...emailSubscriptionRoutes({ db, ids, mailer }),
    ...retentionRoutes({ db }),
    ...configurationRoutes({
      db,
      secrets,
      ledger: reads,
      recordChanges: recordCallersChanges,
      routes: () => routes,
    }),
    ...snapshotRoutes({ db, ids, ledger: reads, dataDir: config.dataDir, recordChange: recordCallersChange }),
    ...keyRotationRoutes({
      db,
      secrets,
      keyFile: config.secretsKeys === undefined ? secretsKeyFile(config.dataDir) : undefined,
      recordChange: recordCallersChange,
    }),
    ...auditRoutes({ db, ids, heads, signer: auditSigner, softwareVersion: version }),
    ...forecastRoutes({ db, ids, ledger: reads, orgLimits, prices }),
    ...ledgerRoutes({ ...increaseDependencies, drift, timezoneOf }),
    ...edgeRoutes(edgeDependencies),
    ...installationRoutes({
      db,
      processes: services.processes,
      metrics,
      jobHistory,
      version,
      region: config.region,
      startedAt,
      mailState,
      notReady: () => unreadyReasonsOf(deps.health),
    }),
    ...deprecationRoutes({ db, registry: deprecations, callers, docsUrl }),
    ...metaRoutes(openApi),
  ];
  return routes;
}
