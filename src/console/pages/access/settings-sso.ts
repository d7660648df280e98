/** Single sign-on by OIDC or SAML. */
import { ApiFailure } from '../../api.ts';
import { actionButton, confirmButton, linkButton } from '../../buttons.ts';
import { card, cardOf, definitionList, empty, notice, panel } from '../../components.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import type { Field, Values } from '../../forms.ts';
import { html, type Markup, type Part } from '../../html.ts';
import { badge } from '../../inline.ts';
import type { Responses } from '../../responses.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { settingsPath, settingsTabs } from './settings-tabs.ts';
import { testCard, testStarted } from './sso-test.ts';

const here = `${settingsPath}/sso`;

type SsoResponse = Responses['sso.read'];

const kinds = {
  oidc: [
    {
      name: 'issuer',
      label: 'Issuer URL',
      kind: 'url',
      required: true,
      help: 'Must match the issuer of the identity provider exactly.',
      placeholder: 'https://login.example.com',
    },
    { name: 'client_id', label: 'Client ID', kind: 'text', required: true },
    {
      name: 'client_secret',
      label: 'Client secret',
      kind: 'secret',
      help: 'Leave blank to keep the current secret.',
    },
    { name: 'scope', label: 'Scope', kind: 'text', placeholder: 'openid email profile' },
  ],
  saml: [
    { name: 'idp_entity_id', label: 'Identity provider entity ID', kind: 'text', required: true },
    { name: 'idp_sso_url', label: 'Identity provider sign-in URL', kind: 'url', required: true },
    { name: 'idp_certificate', label: 'Certificate', kind: 'code', required: true, help: 'PEM format.' },
  ],
} as const satisfies Readonly<Record<SsoResponse['kind'], readonly Field[]>>;

const noRole = 'no access';
const common: readonly Field[] = [
  {
    name: 'groups_attribute',
    label: 'Groups claim or attribute',
    kind: 'text',
    placeholder: 'groups',
  },
  {
    name: 'role_mapping',
    label: 'Group to role mapping',
    kind: 'phrases',
    help: 'One per line: group = role. The highest role wins. Quote groups with outer spaces.',
    placeholder: 'engineering = member',
  },
  {
    name: 'default_role',
    label: 'Default role',
    kind: 'select',
    options: [
      ...['viewer', 'member', 'admin', 'owner'].map((value) => ({ value, label: value })),
      { value: noRole, label: noRole },
    ],
  },
  {
    name: 'allowed_email_domains',
    label: 'Allowed email domains',
    kind: 'list',
    help: 'One per line. Leave blank to allow all.',
  },
  { name: 'just_in_time', label: 'Create members on first sign-in', kind: 'checkbox' },
  {
    name: 'required',
    label: 'Require SSO',
    kind: 'checkbox',
    help: 'API keys and invitations can then no longer sign in to the console. Sign in by SSO once before you enable it.',
  },
];

export const ssoScreens: readonly Screen[] = [
  { path: here, audience: 'org', handler: overview },
  ...(['oidc', 'saml'] as const).flatMap((kind) =>
    formScreens({
      path: `${here}/${kind}`,
      title: kind === 'oidc' ? 'Configure OIDC' : 'Configure SAML',
      submit: 'Save',
      back: here,
      above: (visit) => endpoints(visit, kind),
      fields: () => [...kinds[kind], ...common],
      load: (visit) => settingsValues(visit, kind),
      call: 'PUT {org}/sso',
      body: (body) => ({ ...apiBody(body), kind }),
    }),
  ),
  actionScreen<'sso.tests.create'>({
    path: `${here}/test`,
    call: 'POST {org}/sso/tests',
    body: () => ({}),
    done: 'saved',
    back: here,
    show: async (_visit, test) => testStarted(test),
  }),
  actionScreen({
    path: `${here}/remove`,
    call: 'DELETE {org}/sso',
    done: 'deleted',
    back: here,
  }),
];

/** Invalid mappings stay text, so that the API reports them. */
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

/** Quotes a group that the form would change, since it trims lines. */
function quoted(group: string): string {
  const isPlain = group === group.trim() && !/["\p{Cc}]/u.test(group);
  return isPlain ? group : JSON.stringify(group);
}

function unquoted(text: string): string {
  try {
    return text.startsWith('"') ? String(JSON.parse(text)) : text;
  } catch {
    return text;
  }
}

async function settingsValues({ api, org }: ScreenVisit, kind: SsoResponse['kind']): Promise<Values> {
  const found = await api.tryGet<'sso.read'>(`${org.path}/sso`);
  if (found instanceof ApiFailure) {
    if (found.code !== 'not_found') {
      throw found;
    }
    // Anyone may have an account at a public issuer, so joining is off by default for OIDC.
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
  const { api, org, query } = visit;
  const testId = query.get('test');
  const [found, test] = await Promise.all([
    api.tryGet<'sso.read'>(`${org.path}/sso`),
    testId === null
      ? undefined
      : api.tryGet<'sso.tests.read'>(`${org.path}/sso/tests/${encodeURIComponent(testId)}`),
  ]);
  const autoRefresh = test !== undefined && !(test instanceof ApiFailure) && test.status !== 'finished';
  const intro = 'Sign in with your identity provider.';
  return view({ title: 'Single sign-on', intro, autoRefresh })`
${settingsTabs('/sso', visit)}
${test !== undefined && testCard(test)}
${found instanceof ApiFailure ? panel(found.code === 'not_found' ? none(visit) : notice(found)) : connection(found, visit)}`;
}

/** The URLs to register with the identity provider, which asks for them before there are settings to save. */
async function endpoints({ api, org }: ScreenVisit, kind: SsoResponse['kind']): Promise<Part> {
  const found = await api.tryGet<'sso.endpoints'>(`${org.path}/sso/endpoints`);
  return cardOf(
    'For your identity provider',
    found,
    ({ oidc, saml }) =>
      html`<p>Register these with your identity provider first.</p>${definitionList(
        kind === 'oidc'
          ? [
              [
                'Redirect URIs',
                html`${address(oidc.redirect_url)}<br>${address(oidc.org_redirect_url)}<br><span class="quiet">Register both if in doubt.</span>`,
              ],
              ['Sign-in URL', address(oidc.login_url)],
            ]
          : [
              ['Entity ID and metadata URL', address(saml.sp_entity_id)],
              ['Assertion consumer service URL', address(saml.acs_url)],
              ['Sign-in URL', address(saml.login_url)],
            ],
      )}`,
  );
}

function address(url: string | null): Markup {
  return html`<code>${url}</code>`;
}

function none(visit: ScreenVisit): Markup {
  return empty(
    'SSO is not configured',
    'Members sign in with an API key or an invitation link.',
    html`<div class="actions">${linkButton(visit, { path: `${here}/oidc`, label: 'Configure OIDC', tone: 'primary' })}
${linkButton(visit, { path: `${here}/saml`, label: 'Configure SAML' })}</div>`,
  );
}

function connection(sso: SsoResponse, visit: ScreenVisit): Part {
  const ours: readonly (readonly [string, Part])[] =
    sso.kind === 'oidc'
      ? [['Redirect URIs', html`${address(sso.redirect_url)}<br>${address(sso.org_redirect_url)}`]]
      : [
          ['Entity ID and metadata URL', address(sso.sp_entity_id)],
          ['Assertion consumer service URL', address(sso.acs_url)],
        ];
  return html`${card(
    sso.kind === 'oidc' ? 'OIDC' : 'SAML 2.0',
    html`<p>${sso.required ? badge('required', 'good') : badge('optional')}
${sso.required ? 'SSO is the only way to sign in to the console.' : 'API keys and invitations can also sign in.'}</p>
${definitionList([
  ['Identity provider', address(sso.issuer ?? sso.idp_entity_id)],
  ['Client ID', sso.client_id ?? '–'],
  [
    'Group to role mapping',
    sso.role_mapping.length === 0
      ? 'none'
      : sso.role_mapping.map(({ group, role }) => html`<code>${group}</code> → ${role}<br>`),
  ],
  ['Default role', sso.default_role ?? noRole],
  ['Email domains', sso.allowed_email_domains.join(', ') || 'all'],
  ['New members', sso.just_in_time ? 'created on first sign-in' : 'must be invited'],
])}<div class="form-end">${actionButton(visit, { path: `${here}/test`, label: 'Test sign-in', once: true })}
${linkButton(visit, { path: `${here}/${sso.kind}`, label: 'Edit' })}
${confirmButton(
  visit,
  { path: `${here}/remove`, label: 'Remove SSO' },
  'Members can no longer sign in by SSO. Their accounts are kept.',
)}</div>`,
  )}
${card('For your identity provider', definitionList([['Sign-in URL', address(sso.login_url)], ...ours]))}`;
}
