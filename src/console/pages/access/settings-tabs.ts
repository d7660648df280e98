/** The tabs of the settings pages. */
import { tabBar } from '../../components.ts';
import type { Markup } from '../../html.ts';
import { settingsPages } from '../../navigation.ts';
import { openable } from '../../operations.ts';
import type { ScreenVisit } from '../../screen.ts';

export const settingsPath = '/console/settings';

/** The tabs that the visitor may open; `current` is the path below the settings. */
export function settingsTabs(current: string, { api, org }: Pick<ScreenVisit, 'api' | 'org'>): Markup {
  const tabs = openable(settingsPages, api, org).map(({ path, title }) => [path, title] as const);
  return tabBar('Settings', tabs, settingsPath + current);
}
