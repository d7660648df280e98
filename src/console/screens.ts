/** Every page of the console. */
import { ApiFailure } from './api.ts';
import { approvalScreens } from './pages/approvals.ts';
import { auditScreens } from './pages/audit.ts';
import { benchmarkScreens } from './pages/benchmarks.ts';
import { creditScreens } from './pages/credits.ts';
import { customerScreens } from './pages/customers.ts';
import { deprecationScreens } from './pages/deprecations.ts';
import { forecastScreens } from './pages/forecasts.ts';
import { keyScreens, operatorKeyScreens } from './pages/keys.ts';
import { limitFormScreens } from './pages/limit-forms.ts';
import { limitScreens } from './pages/limits.ts';
import { operatorGrantScreens } from './pages/operator-grants.ts';
import { operatorOrgScreens } from './pages/operator-orgs.ts';
import { operatorPlanScreens } from './pages/operator-plans.ts';
import { operatorPriceScreens } from './pages/operator-prices.ts';
import { operatorRateScreens } from './pages/operator-rates.ts';
import { overviewScreens } from './pages/overview.ts';
import { policyScreens } from './pages/policies.ts';
import { policyTrialScreens } from './pages/policy-simulation.ts';
import { bookScreens } from './pages/reconciliation.ts';
import { refusalScreens } from './pages/refusals.ts';
import { routingScreens } from './pages/routing.ts';
import { runScreens } from './pages/runs.ts';
import { safetyScreens } from './pages/safety.ts';
import { settingsScreens } from './pages/settings.ts';
import { memberScreens } from './pages/settings-members.ts';
import { retentionScreens } from './pages/settings-retention.ts';
import { sessionScreens } from './pages/settings-sessions.ts';
import { ssoScreens } from './pages/settings-sso.ts';
import { supportScreens } from './pages/settings-support.ts';
import { webhookDetailScreens } from './pages/webhook.ts';
import { webhookScreens } from './pages/webhooks.ts';
import type { Screen } from './screen.ts';

/** For what is none of the others: whoever is signed in stays within the console. */
const noSuchPage: Screen = {
  path: '/console/*',
  audience: 'everyone',
  handler: async () => {
    throw new ApiFailure(404, 'not_found', 'There is no such page.', {});
  },
};

export const screens: readonly Screen[] = [
  ...overviewScreens,
  ...refusalScreens,
  ...runScreens,
  ...limitScreens,
  ...limitFormScreens,
  ...creditScreens,
  ...bookScreens,
  ...customerScreens,
  ...keyScreens,
  ...webhookScreens,
  ...webhookDetailScreens,
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
  ...retentionScreens,
  ...supportScreens,
  ...deprecationScreens,
  ...operatorOrgScreens,
  ...operatorPlanScreens,
  ...operatorPriceScreens,
  ...operatorGrantScreens,
  ...operatorKeyScreens,
  ...operatorRateScreens,
  noSuchPage,
];
