/** Every page of the console. */
import { ApiFailure } from './api.ts';
import { keyPageScreens } from './pages/access/key-page.ts';
import { keyScreens, operatorKeyScreens } from './pages/access/keys.ts';
import { operatorGrantScreens } from './pages/access/operator-grants.ts';
import { operatorOrgScreens } from './pages/access/operator-orgs.ts';
import { settingsScreens } from './pages/access/settings.ts';
import { memberScreens } from './pages/access/settings-members.ts';
import { sessionScreens } from './pages/access/settings-sessions.ts';
import { ssoScreens } from './pages/access/settings-sso.ts';
import { supportScreens } from './pages/access/settings-support.ts';
import { toolSignInScreens } from './pages/access/tool-sign-ins.ts';
import { auditScreens } from './pages/compliance/audit.ts';
import { operatorRetentionScreens } from './pages/compliance/operator-retention.ts';
import { retentionScreens } from './pages/compliance/settings-retention.ts';
import { approvalScreens } from './pages/governance/approvals.ts';
import { denialPageScreens } from './pages/governance/denial-page.ts';
import { denialScreens } from './pages/governance/denials.ts';
import { policyScreens } from './pages/governance/policies.ts';
import { policyTrialScreens } from './pages/governance/policy-simulation.ts';
import { routingScreens } from './pages/governance/routing.ts';
import { safetyScreens } from './pages/governance/safety.ts';
import { benchmarkScreens } from './pages/insight/benchmarks.ts';
import { forecastScreens } from './pages/insight/forecasts.ts';
import { getStartedScreens } from './pages/insight/get-started.ts';
import { operatorHealthScreens } from './pages/insight/operator-health.ts';
import { overviewScreens } from './pages/insight/overview.ts';
import { reconciliationScreens } from './pages/insight/reconciliation.ts';
import { searchScreens } from './pages/insight/search.ts';
import { statementScreens } from './pages/insight/statements.ts';
import { usageScreens } from './pages/insight/usage.ts';
import { deprecationScreens } from './pages/integration/deprecations.ts';
import { emailAlertScreens } from './pages/integration/email-alerts.ts';
import { gatewayScreens } from './pages/integration/gateway.ts';
import { gatewayCallScreens } from './pages/integration/gateway-calls.ts';
import { gatewayDeveloperScreens } from './pages/integration/gateway-developers.ts';
import { gatewayKeyScreens } from './pages/integration/gateway-keys.ts';
import { webhookDetailScreens } from './pages/integration/webhook.ts';
import { webhookScreens } from './pages/integration/webhooks.ts';
import { creditScreens } from './pages/spend/credits.ts';
import { customerScreens } from './pages/spend/customers.ts';
import { limitFormScreens } from './pages/spend/limit-forms.ts';
import { limitPageScreens } from './pages/spend/limit-page.ts';
import { limitRaiseScreens } from './pages/spend/limit-raises.ts';
import { limitScreens } from './pages/spend/limits.ts';
import { operatorPlanScreens } from './pages/spend/operator-plans.ts';
import { operatorPriceChangeScreens } from './pages/spend/operator-price-changes.ts';
import { operatorPriceScreens } from './pages/spend/operator-prices.ts';
import { operatorRateScreens } from './pages/spend/operator-rates.ts';
import { raiseRequestScreens } from './pages/spend/raise-requests.ts';
import { runScreens } from './pages/spend/runs.ts';
import { unpricedModelScreens } from './pages/spend/unpriced-models.ts';
import type { Screen } from './screen.ts';

/** Fallback for unknown paths, so that signed-in visitors stay within the console. */
const notFoundPage: Screen = {
  path: '/console/*',
  audience: 'everyone',
  handler: async () => {
    throw new ApiFailure(404, 'not_found', 'This page does not exist.', {});
  },
};

export const screens: readonly Screen[] = [
  ...overviewScreens,
  ...searchScreens,
  ...getStartedScreens,
  ...usageScreens,
  ...statementScreens,
  ...denialScreens,
  ...denialPageScreens,
  ...runScreens,
  ...limitScreens,
  ...limitPageScreens,
  ...limitFormScreens,
  ...limitRaiseScreens,
  ...raiseRequestScreens,
  ...creditScreens,
  ...reconciliationScreens,
  ...customerScreens,
  ...keyScreens,
  ...keyPageScreens,
  ...gatewayScreens,
  ...gatewayCallScreens,
  ...gatewayDeveloperScreens,
  ...gatewayKeyScreens,
  ...webhookScreens,
  ...webhookDetailScreens,
  ...emailAlertScreens,
  ...policyScreens,
  ...policyTrialScreens,
  ...approvalScreens,
  ...safetyScreens,
  ...routingScreens,
  ...auditScreens,
  ...forecastScreens,
  ...benchmarkScreens,
  ...settingsScreens,
  ...memberScreens,
  ...ssoScreens,
  ...sessionScreens,
  ...toolSignInScreens,
  ...retentionScreens,
  ...unpricedModelScreens,
  ...supportScreens,
  ...deprecationScreens,
  ...operatorOrgScreens,
  ...operatorPlanScreens,
  ...operatorPriceChangeScreens,
  ...operatorPriceScreens,
  ...operatorGrantScreens,
  ...operatorKeyScreens,
  ...operatorRateScreens,
  ...operatorHealthScreens,
  ...operatorRetentionScreens,
  notFoundPage,
];
