/** The page of the documentation about the subject of each menu entry, and of the pages below it. */
import { entryOf, type MenuGroup } from './navigation.ts';

const guides: Readonly<Record<string, string>> = {
  '/console': '/docs/guides/console',
  '/console/get-started': '/docs/guides/decisions',
  '/console/usage': '/docs/guides/usage',
  '/console/runs': '/docs/guides/decisions',
  '/console/limits': '/docs/guides/limits',
  '/console/customers': '/docs/guides/limits',
  '/console/statements': '/docs/guides/statements',
  '/console/forecasts': '/docs/guides/forecasts',
  '/console/refusals': '/docs/guides/why-blocked',
  '/console/policies': '/docs/guides/policies',
  '/console/approvals': '/docs/guides/policies',
  '/console/raise-requests': '/docs/guides/limits',
  '/console/safety': '/docs/guides/safety',
  '/console/routing': '/docs/guides/routing',
  '/console/keys': '/docs/guides/keys',
  '/console/gateway': '/docs/guides/gateway',
  '/console/webhooks': '/docs/guides/webhooks',
  '/console/email-alerts': '/docs/guides/alerts',
  '/console/audit': '/docs/guides/audit',
  '/console/benchmarks': '/docs/guides/benchmarks',
  '/console/settings': '/docs/guides/sign-in',
  '/console/orgs': '/docs/operations/running',
  '/console/plans': '/docs/guides/limits',
  '/console/prices': '/docs/guides/prices',
  '/console/grants': '/docs/guides/support-access',
  '/console/health': '/docs/operations/running',
  '/console/retention': '/docs/guides/retention',
  '/console/deprecations': '/docs/guides/deprecations',
  '/console/operator-keys': '/docs/guides/keys',
  '/console/sessions': '/docs/guides/sign-in',
};

/** Returns the start page of the documentation for a page that is in no menu. */
export function guideOf(menu: readonly MenuGroup[], url: string): string {
  return guides[entryOf(menu, url)] ?? '/docs';
}
