/** The switch between light and dark. */

import { themeCookie, themeNamed } from '../platform/http/html/theme.ts';
import { type Page, redirectTo } from '../platform/http/routes/page.ts';

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
