/** The tabs of the settings pages. */
import { html, type Markup } from '../../html.ts';
import { settingsPages } from '../../navigation.ts';
import { openable } from '../../operations.ts';
import type { ScreenVisit } from '../../screen.ts';

export const settingsPath = '/console/settings';

/** The tabs that the visitor may open; `current` is the path below the settings. */
export function settingsTabs(current: string, { api, org }: Pick<ScreenVisit, 'api' | 'org'>): Markup {
  return html`<nav class="tabs" aria-label="Settings">${openable(settingsPages, api, org).map(({ path, title }) => html`<a href="${path}"${path === settingsPath + current && html` aria-current="page"`}>${title}</a>`)}</nav>`;
}
