/** The switch between light and dark. */
import { type Page, redirectTo } from '../platform/http/page.ts';
import { themeCookie, themeNamed } from '../platform/http/theme.ts';

/** `returnPath` gives only pages of the console: what comes from a form must not lead anybody elsewhere. */
export function themePage(returnPath: (asked: string | null) => string): Page {
  return {
    method: 'POST',
    path: '/console/theme',
    async handler(visit) {
      const form = await visit.form();
      return redirectTo(returnPath(form.get('back')), {
        'set-cookie': themeCookie(themeNamed(form.get('theme'))),
      });
    },
  };
}
