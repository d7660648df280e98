/** The choice between light and dark, kept in a cookie so that a page comes in the right colors at once. */
import { type Page, redirectTo } from '../platform/http/page.ts';
import { type Theme, themes } from './layout.ts';

const cookieName = 'purser_theme';
const yearSeconds = 31_536_000;

export function themeOf(cookieHeader: string | undefined): Theme {
  const value = new RegExp(`(?:^|;\\s*)${cookieName}=(\\w+)`).exec(cookieHeader ?? '')?.[1];
  return themes.find((theme) => theme === value) ?? 'auto';
}

/** `returnPath` gives only pages of the console: what comes from a form must not lead anybody elsewhere. */
export function themePage(returnPath: (asked: string | null) => string): Page {
  return {
    method: 'POST',
    path: '/console/theme',
    async handler(visit) {
      const form = await visit.form();
      const theme = themes.find((name) => name === form.get('theme')) ?? 'auto';
      return redirectTo(returnPath(form.get('back')), {
        'set-cookie': `${cookieName}=${theme}; Path=/console; Max-Age=${yearSeconds}; SameSite=Lax; HttpOnly`,
      });
    },
  };
}
