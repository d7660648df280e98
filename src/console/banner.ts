/** What stands above every page of a visit that is not the org's own: who is here, why, and until when. */
import type { Credential } from '../platform/http/routes/access.ts';
import { time } from './format.ts';
import { html, type Markup } from './html.ts';

interface Banner {
  readonly banner?: Markup;
  readonly signOut?: string;
}

export function bannerOf({ support, session, org, expiresAt }: Credential, timezone: string): Banner {
  if (support !== undefined) {
    return {
      banner: html`<aside class="banner" aria-label="Support access"><p><strong>Support access.</strong> Operator <code>${support.operatorKeyId}</code> is looking into this org: “${support.reason}”, until ${time(expiresAt?.toISOString(), timezone)}. Everything is recorded.</p></aside>`,
      signOut: '/console/support/leave',
    };
  }
  if (session?.actor === 'operator' && org !== null) {
    return {
      banner: html`<aside class="banner" aria-label="Operator"><p><strong>An operator is signed in here</strong> by a link that was made for it: ${session.name}.</p></aside>`,
    };
  }
  return {};
}
