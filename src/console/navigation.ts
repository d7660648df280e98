/** The navigation menus of organizations and operators. */

export interface MenuEntry {
  readonly title: string;
  readonly path: string;
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
      { title: 'Spend', path: '/console/spend' },
      { title: 'Runs', path: '/console/runs' },
      { title: 'Limits', path: '/console/limits' },
      { title: 'Customers', path: '/console/customers' },
      { title: 'Statements', path: '/console/statements' },
      { title: 'Forecasts', path: '/console/forecasts' },
      { title: 'Denials', path: '/console/refusals' },
    ],
  },
  {
    title: 'Governance',
    entries: [
      { title: 'Policies', path: '/console/policies' },
      { title: 'Approvals', path: '/console/approvals' },
      { title: 'Safety', path: '/console/safety' },
      { title: 'Routing', path: '/console/routing' },
    ],
  },
  {
    title: 'Integration',
    entries: [
      { title: 'API keys', path: '/console/keys' },
      { title: 'Gateway', path: '/console/gateway' },
      { title: 'Webhooks', path: '/console/webhooks' },
    ],
  },
  {
    title: 'Organization',
    entries: [
      { title: 'Audit log', path: '/console/audit' },
      { title: 'Benchmarks', path: '/console/benchmarks' },
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
      { title: 'Deprecations', path: '/console/deprecations' },
      { title: 'API keys', path: '/console/operator-keys' },
      { title: 'Sessions', path: '/console/sessions' },
    ],
  },
];

/** Returns the path of the menu entry that a page belongs to. */
export function entryOf(menu: readonly MenuGroup[], url: string): string {
  const entries = menu.flatMap((group) => group.entries);
  return entries.find((entry) => isCurrent(entry, url))?.path ?? '/console';
}

/** Returns true if the page is that of the menu entry, or below it. */
export function isCurrent(entry: MenuEntry, url: string): boolean {
  const path = url.replace(/\?.*/s, '');
  return path === entry.path || (entry.path !== '/console' && path.startsWith(`${entry.path}/`));
}
