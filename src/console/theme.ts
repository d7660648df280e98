/** The color theme switch. */

import { themeCookie, themeNamed } from '../platform/http/html/theme.ts';
import { type Page, redirectTo } from '../platform/http/routes/page.ts';

/** `returnPath` returns only paths of the console, so that a forged form field cannot redirect to another site. */
export function themePage(returnPath: (requested: string | null) => string): Page {
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
