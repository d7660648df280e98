/** The menu of the signed-in visitor in the header: identity, role, organization, theme, sessions and sign-out. */
import { type Theme, themes } from '../platform/http/html/theme.ts';
import type { Credential } from '../platform/http/routes/access.ts';
import type { Api } from './api.ts';
import { capitalized } from './format.ts';
import { html, type Markup } from './html.ts';
import { hiddenInputs } from './inputs.ts';
import type { VisitedOrg } from './screen.ts';

export interface Account {
  /** The name of the API key or person, or the id of the operator in a support session. */
  readonly name: string;
  readonly role: string;
  /** The page with the sessions of the visitor. Undefined if the visitor may not list them. */
  readonly sessions: string | undefined;
}

export function accountOf(credential: Credential, api: Api, visited: VisitedOrg): Account {
  const { session, support, role, org, keyId } = credential;
  if (support !== undefined) {
    return { name: support.operatorKeyId, role: 'Support', sessions: undefined };
  }
  const page = org === null ? '/console/sessions' : '/console/settings/sessions';
  return {
    name: session?.name ?? keyId,
    role: capitalized(role),
    sessions: api.denied('GET', `${visited.path}/sessions`) === undefined ? page : undefined,
  };
}

export interface AccountMenu {
  readonly account: Account;
  readonly orgName: string;
  readonly theme: Theme;
  /** Target of the theme switch. */
  readonly back: string;
  /** Target of “Sign out”. */
  readonly signOut: string;
}

/** A `details` element, so that it opens without JavaScript. */
export function accountMenu({ account, orgName, theme, back, signOut }: AccountMenu): Markup {
  const { name, role, sessions } = account;
  return html`<details class="account"><summary class="account-open">
<span class="hidden">Account: </span><span class="account-name">${name}</span> <span class="role">${role}</span></summary>
<div class="account-box"><p><span class="quiet">Signed in as</span> <strong>${name}</strong></p>
<dl><div class="account-fact"><dt>Role</dt><dd>${role}</dd></div><div class="account-fact"><dt>Organization</dt><dd>${orgName}</dd></div></dl>
${themeSwitch(theme, back)}
${sessions !== undefined && html`<p class="account-end"><a href="${sessions}">Sessions</a></p>`}
<form method="post" action="${signOut}"><button class="button">Sign out</button></form></div></details>`;
}

const themeNames: Readonly<Record<Theme, string>> = { auto: 'System', light: 'Light', dark: 'Dark' };

function themeSwitch(theme: Theme, back: string): Markup {
  const button = (name: Theme) =>
    html`<button name="theme" value="${name}" aria-pressed="${name === theme ? 'true' : 'false'}">${themeNames[name]}</button>`;
  return html`<form method="post" action="/console/theme" class="themes" aria-label="Theme">${hiddenInputs({ back })}${themes.map(button)}</form>`;
}
