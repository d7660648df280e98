/** The tabs of the settings pages. */
import { html, type Markup } from '../../html.ts';

export const settingsPath = '/console/settings';

const tabs = [
  ['', 'Organization'],
  ['/members', 'Members'],
  ['/sso', 'Single sign-on'],
  ['/sessions', 'Sessions'],
  ['/retention', 'Retention'],
  ['/unpriced-models', 'Unpriced models'],
  ['/support', 'Support access'],
  ['/deprecations', 'Deprecations'],
] as const;

export function settingsTabs(current: (typeof tabs)[number][0]): Markup {
  return html`<nav class="tabs" aria-label="Settings">${tabs.map(([path, title]) => html`<a href="${settingsPath}${path}"${path === current && html` aria-current="page"`}>${title}</a>`)}</nav>`;
}
