/** Signing in with what the company has: OIDC or SAML. */
import type { Responses } from '../../../contract/views/responses.ts';
import { ApiFailure } from '../../api.ts';
import {
  askFirst,
  badge,
  card,
  definitionList,
  empty,
  heading,
  linkButton,
  notice,
  panel,
} from '../../components.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import type { Field, Values } from '../../forms.ts';
import { html, type Markup, type Part } from '../../html.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { settingsPath, settingsTabs } from './settings-tabs.ts';

const here = `${settingsPath}/sso`;

type SsoView = Responses['sso.read'];

const kinds = {
  oidc: [
    {
      name: 'issuer',
      label: 'Issuer',
      kind: 'url',
      required: true,
      help: 'Exactly as the identity provider calls itself.',
      placeholder: 'https://login.example.com',
    },
    { name: 'client_id', label: 'Client id', kind: 'text', required: true },
    {
      name: 'client_secret',
      label: 'Client secret',
      kind: 'secret',
      help: 'Never shown again. Empty: the one before stays.',
    },
    { name: 'scope', label: 'Scope', kind: 'text', placeholder: 'openid email profile' },
  ],
  saml: [
    { name: 'idp_entity_id', label: 'Entity id of the identity provider', kind: 'text', required: true },
    { name: 'idp_sso_url', label: 'Sign-in address of the identity provider', kind: 'url', required: true },
    { name: 'idp_certificate', label: 'Certificate', kind: 'code', required: true, help: 'As PEM.' },
  ],
} as const satisfies Readonly<Record<SsoView['kind'], readonly Field[]>>;

const noRole = 'nobody gets in';
const common: readonly Field[] = [
  {
    name: 'groups_attribute',
    label: 'Claim or attribute with the groups',
    kind: 'text',
    placeholder: 'groups',
  },
  {
    name: 'role_mapping',
    label: 'Roles of groups',
    kind: 'list',
    help: 'One a line, as group = role. Of several the highest holds. Put a group with commas or spaces around it in quotes.',
    placeholder: 'engineering = member',
  },
  {
    name: 'default_role',
    label: 'Role where no group gives one',
    kind: 'select',
    options: [
      ...['viewer', 'member', 'admin', 'owner'].map((value) => ({ value, label: value })),
      { value: noRole, label: `none: ${noRole}` },
    ],
  },
  {
    name: 'allowed_email_domains',
    label: 'Only with an e-mail address in',
    kind: 'list',
    help: 'One domain a line. Empty: all.',
  },
  { name: 'just_in_time', label: 'Who signs in and is no member yet becomes one', kind: 'checkbox' },
  {
    name: 'required',
    label: 'People have to sign in this way',
    kind: 'checkbox',
    help: 'Keys and invitations then open no session of the console. Sign in by SSO once before you turn it on.',
  },
];

export const ssoScreens: readonly Screen[] = [
  { path: here, audience: 'org', handler: overview },
  ...(['oidc', 'saml'] as const).flatMap((kind) =>
    formScreens({
      path: `${here}/${kind}`,
      title: kind === 'oidc' ? 'Sign-in by OIDC' : 'Sign-in by SAML',
      submit: 'Save',
      back: here,
      fields: () => [...kinds[kind], ...common],
      load: (visit) => valuesOf(visit, kind),
      call: 'PUT {org}/sso',
      body: (body) => ({ ...apiBody(body), kind }),
    }),
  ),
  actionScreen({
    path: `${here}/remove`,
    call: 'DELETE {org}/sso',
    done: 'deleted',
    back: here,
  }),
];

/** What no mapping is stays as it was typed, so that the API says what is wrong with it. */
function apiBody({ role_mapping, default_role, ...body }: Record<string, unknown>): object {
  const lines = Array.isArray(role_mapping) ? role_mapping : [];
  return {
    ...body,
    role_mapping: lines.map((line: string) => {
      const [, group, role] = /^(.*?)\s*=\s*(\S+)$/.exec(line) ?? [];
      return group === undefined ? line : { group: unquoted(group), role };
    }),
    default_role: default_role === noRole ? null : default_role,
  };
}

/** In quotes where a line of the form would lose a part: it is trimmed, and lines end at commas too. */
function quoted(group: string): string {
  const isPlain = group === group.trim() && !/[,"\p{Cc}]/u.test(group);
  return isPlain ? group : JSON.stringify(group).replaceAll(',', '\\u002c');
}

function unquoted(text: string): string {
  try {
    return text.startsWith('"') ? String(JSON.parse(text)) : text;
  } catch {
    return text;
  }
}

async function valuesOf({ api, org }: ScreenVisit, kind: SsoView['kind']): Promise<Values> {
  const found = await api.tryGet<'sso.read'>(`${org.path}/sso`);
  if (found instanceof ApiFailure) {
    if (found.code !== 'not_found') {
      throw found;
    }
    // At a public issuer anybody can have an account, so joining is asked for.
    return { default_role: 'viewer', just_in_time: String(kind === 'saml') };
  }
  return {
    ...Object.fromEntries(
      kinds[kind].flatMap(({ name }) => (name === 'client_secret' ? [] : [[name, found[name] ?? '']])),
    ),
    groups_attribute: found.groups_attribute,
    role_mapping: found.role_mapping.map(({ group, role }) => `${quoted(group)} = ${role}`),
    default_role: found.default_role ?? noRole,
    allowed_email_domains: found.allowed_email_domains,
    just_in_time: String(found.just_in_time),
    required: String(found.required),
  };
}

async function overview(visit: ScreenVisit) {
  const { api, org } = visit;
  const found = await api.tryGet<'sso.read'>(`${org.path}/sso`);
  return view(
    'Single sign-on',
    html`${heading('Single sign-on', undefined, 'People sign in with the identity provider of your company.')}${settingsTabs('/sso')}
${found instanceof ApiFailure ? panel(found.code === 'not_found' ? none(visit) : notice(found)) : connection(found, visit)}`,
  );
}

function none(visit: ScreenVisit): Markup {
  return empty(
    'Not set up',
    'Until then people sign in with a key, or by a link from an invitation.',
    html`<div class="actions">${linkButton(visit, { path: `${here}/oidc`, label: 'Set up OIDC', tone: 'primary' })}${linkButton(visit, { path: `${here}/saml`, label: 'Set up SAML' })}</div>`,
  );
}

function connection(sso: SsoView, visit: ScreenVisit): Part {
  const address = (url: string | null) => html`<code>${url}</code>`;
  const ours: readonly (readonly [string, Part])[] =
    sso.kind === 'oidc'
      ? [
          [
            'Redirect URIs to register',
            html`${address(sso.redirect_url)}<br>${address(sso.org_redirect_url)}`,
          ],
        ]
      : [
          ['Entity id, and where the metadata is', address(sso.sp_entity_id)],
          ['Assertion consumer service', address(sso.acs_url)],
        ];
  return html`${card(
    sso.kind === 'oidc' ? 'OIDC' : 'SAML 2.0',
    html`<p>${badge(sso.required ? 'required' : 'optional', sso.required ? 'good' : 'plain')} ${sso.required ? 'Nobody signs in to the console any other way.' : 'Keys and invitations open a session too.'}</p>
${definitionList([
  ['Identity provider', address(sso.issuer ?? sso.idp_entity_id)],
  ['Client', sso.client_id ?? '–'],
  [
    'Roles of groups',
    sso.role_mapping.length === 0
      ? 'none'
      : sso.role_mapping.map(({ group, role }) => html`<code>${group}</code> → ${role}<br>`),
  ],
  ['Otherwise', sso.default_role ?? noRole],
  ['E-mail domains', sso.allowed_email_domains.join(', ') || 'all'],
  ['New people', sso.just_in_time ? 'become members by signing in' : 'have to be invited'],
])}<div class="form-end">${linkButton(visit, { path: `${here}/${sso.kind}`, label: 'Change' })}${askFirst(visit, { path: `${here}/remove`, label: 'Remove' }, 'Nobody can sign in by SSO from now on. Members stay.')}</div>`,
  )}
${card('For your identity provider', definitionList([['Where people sign in', address(sso.login_url)], ...ours]))}`;
}
