/** The menu: which pages there are, for whom, under which heading. */

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
      { title: 'Runs', path: '/console/runs' },
      { title: 'Limits', path: '/console/limits' },
      { title: 'Customers', path: '/console/customers' },
      { title: 'Forecasts', path: '/console/forecasts' },
      { title: 'Refusals', path: '/console/refusals' },
    ],
  },
  {
    title: 'Rules',
    entries: [
      { title: 'Policies', path: '/console/policies' },
      { title: 'Approvals', path: '/console/approvals' },
      { title: 'Safety', path: '/console/safety' },
      { title: 'Routing and evals', path: '/console/routing' },
    ],
  },
  {
    title: 'Connections',
    entries: [
      { title: 'Keys', path: '/console/keys' },
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
      { title: 'Keys', path: '/console/operator-keys' },
      { title: 'Sessions', path: '/console/sessions' },
    ],
  },
];

/** Whether an entry is the one that a page belongs to: the page itself, or one below it. */
/** Under which entry of the menu a page stands. */
export function entryOf(menu: readonly MenuGroup[], url: string): string {
  const entries = menu.flatMap((group) => group.entries);
  return entries.find((entry) => isCurrent(entry, url))?.path ?? '/console';
}

export function isCurrent(entry: MenuEntry, url: string): boolean {
  const path = url.replace(/\?.*/s, '');
  return path === entry.path || (entry.path !== '/console' && path.startsWith(`${entry.path}/`));
}
