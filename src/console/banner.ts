/** The banner above every page of a support session or of an operator's visit to an organization. */
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
      banner: html`<aside class="banner" aria-label="Support access"><p><strong>Support session.</strong> Operator
<code>${support.operatorKeyId}</code> has access until ${time(expiresAt?.toISOString(), timezone)}: “${support.reason}”.
All activity is recorded.</p></aside>`,
      signOut: '/console/support/leave',
    };
  }
  if (session?.actor === 'operator' && org !== null) {
    return {
      banner: html`<aside class="banner" aria-label="Operator"><p><strong>Operator session.</strong>
You are viewing this organization as ${session.name}.</p></aside>`,
    };
  }
  return {};
}
