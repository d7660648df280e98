/** The navigation menus of organizations and operators. */
import type { Call } from './screen.ts';

/** The results of the search box in the header. */
export const searchPath = '/console/search';

export interface MenuEntry {
  readonly title: string;
  readonly path: string;
  /** The operation that the page and the pages below it cannot do without. Visitors who may not call it do not see the entry. */
  readonly call?: Call;
}

export interface MenuGroup {
  readonly title: string;
  readonly entries: readonly MenuEntry[];
}

export const orgMenu: readonly MenuGroup[] = [
  {
    title: 'Spend',
    entries: [
      { title: 'Overview', path: '/console' },
      { title: 'Usage', path: '/console/usage', call: 'GET {org}/usage' },
      { title: 'Runs', path: '/console/runs', call: 'GET /v1/runs' },
      { title: 'Limits', path: '/console/limits', call: 'GET {org}/limits' },
      { title: 'Customers', path: '/console/customers', call: 'GET {org}/customers' },
      { title: 'Statements', path: '/console/statements', call: 'GET {org}/statements' },
      { title: 'Forecasts', path: '/console/forecasts', call: 'GET /v1/capacity/forecasts' },
      { title: 'Blocked requests', path: '/console/refusals', call: 'GET {org}/refusals' },
    ],
  },
  {
    title: 'Governance',
    entries: [
      { title: 'Policies', path: '/console/policies', call: 'GET {org}/policies' },
      { title: 'Approvals', path: '/console/approvals', call: 'GET {org}/approvals' },
      { title: 'Raise requests', path: '/console/raise-requests', call: 'GET {org}/raise-requests' },
      { title: 'Safety', path: '/console/safety', call: 'GET {org}/safety-detectors' },
      { title: 'Routing', path: '/console/routing', call: 'GET {org}/routing-policy' },
    ],
  },
  {
    title: 'Integration',
    entries: [
      { title: 'Get started', path: '/console/get-started' },
      { title: 'API keys', path: '/console/keys', call: 'GET {org}/keys' },
      { title: 'Gateway', path: '/console/gateway', call: 'GET {org}/connections' },
      { title: 'Webhooks', path: '/console/webhooks', call: 'GET {org}/webhooks' },
      { title: 'E-mail alerts', path: '/console/email-alerts', call: 'GET {org}/email-subscriptions' },
    ],
  },
  {
    title: 'Organization',
    entries: [
      { title: 'Audit log', path: '/console/audit', call: 'GET {org}/audit-log' },
      { title: 'Benchmarks', path: '/console/benchmarks', call: 'GET /v1/benchmarks/cohorts' },
      { title: 'Settings', path: '/console/settings' },
    ],
  },
];

export const operatorMenu: readonly MenuGroup[] = [
  {
    title: 'Operators',
    entries: [
      { title: 'Organizations', path: '/console/orgs' },
      { title: 'Plans', path: '/console/plans' },
      { title: 'Prices', path: '/console/prices' },
      { title: 'Support grants', path: '/console/grants' },
      { title: 'Health', path: '/console/health' },
      { title: 'Audit log', path: '/console/audit' },
      { title: 'Retention', path: '/console/retention' },
      { title: 'Deprecations', path: '/console/deprecations' },
      { title: 'API keys', path: '/console/operator-keys' },
      { title: 'Sessions', path: '/console/sessions' },
    ],
  },
];

/** The pages of the settings, below the entry of the menu. */
export const settingsPages: readonly MenuEntry[] = [
  { title: 'Organization', path: '/console/settings' },
  { title: 'Members', path: '/console/settings/members', call: 'GET {org}/members' },
  { title: 'Single sign-on', path: '/console/settings/sso', call: 'GET {org}/sso' },
  { title: 'Sessions', path: '/console/settings/sessions', call: 'GET {org}/sessions' },
  { title: 'Tool sign-ins', path: '/console/settings/tool-sign-ins', call: 'GET {org}/tool-sign-ins' },
  { title: 'Retention', path: '/console/settings/retention', call: 'GET {org}/retention-policy' },
  { title: 'Unpriced models', path: '/console/settings/unpriced-models', call: 'GET {org}/unpriced-policy' },
  { title: 'Support access', path: '/console/settings/support', call: 'GET {org}/support-access' },
  { title: 'Deprecations', path: '/console/settings/deprecations', call: 'GET {org}/deprecations/usage' },
];

/** Forms of the settings that load values of the organization. */
const settingsForms: readonly MenuEntry[] = [
  { title: 'Organization', path: '/console/settings/organization', call: 'GET {org}' },
  { title: 'IP allowlist', path: '/console/settings/addresses', call: 'GET {org}/ip-allow-list' },
];

/** All entries, those of longer paths first. */
const closestFirst = [...orgMenu, ...operatorMenu]
  .flatMap((group) => group.entries)
  .concat(settingsPages, settingsForms)
  .toSorted((a, b) => b.path.length - a.path.length);

/** Returns the operation that a page cannot do without: that of the closest entry above it. */
export function readCallOf(url: string): Call | undefined {
  const path = pathIn(url);
  return closestFirst.find((entry) => isAbove(entry, path))?.call;
}

/** Returns the path of the menu entry that a page belongs to. */
export function entryOf(menu: readonly MenuGroup[], url: string): string {
  const entries = menu.flatMap((group) => group.entries);
  return entries.find((entry) => isCurrent(entry, url))?.path ?? '/console';
}

/** Returns true if the page is that of the menu entry, or below it. */
export function isCurrent(entry: MenuEntry, url: string): boolean {
  return isAbove(entry, pathIn(url));
}

function isAbove(entry: MenuEntry, path: string): boolean {
  return path === entry.path || (entry.path !== '/console' && path.startsWith(`${entry.path}/`));
}

function pathIn(url: string): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}
