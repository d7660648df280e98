/** Presets of the form that creates an API key: the role and scopes of common uses. */
import type { OrgRole } from '../../../contract/scopes.ts';
import { outranks } from '../../../platform/http/routes/access.ts';
import type { Values } from '../../forms.ts';
import { html, link, type Markup } from '../../html.ts';
import type { ScreenVisit } from '../../screen.ts';

interface Preset {
  readonly name: string;
  readonly label: string;
  readonly role: OrgRole;
  readonly purpose: string;
  holds(scope: string): boolean;
}

const reporting = ['runs:read', 'budgets:read', 'customers:read', 'credits:read', 'forecasts:read'];

const presets: readonly Preset[] = [
  {
    name: 'gateway_calls',
    label: 'Gateway',
    role: 'member',
    purpose: 'Calls models through the gateway.',
    holds: (scope) => scope === 'gateway:call',
  },
  {
    name: 'gateway',
    label: 'Own gateway',
    role: 'member',
    purpose: 'Requests decisions and reports runs.',
    holds: (scope) => ['edge:decide', 'runs:write'].includes(scope),
  },
  {
    name: 'read',
    label: 'Read-only',
    role: 'viewer',
    purpose: 'Reads everything, changes nothing.',
    holds: (scope) => scope.endsWith(':read'),
  },
  {
    name: 'reporting',
    label: 'Reporting',
    role: 'viewer',
    purpose: 'Reads spend, limits, customers and forecasts.',
    holds: (scope) => reporting.includes(scope),
  },
  {
    name: 'admin',
    label: 'Admin',
    role: 'admin',
    purpose: 'Configures everything.',
    holds: () => true,
  },
];

type VisitorCredential = ScreenVisit['credential'];

/** Limited to the visitor's own role and scopes: the API rejects others. */
function scopesOf(preset: Preset, { scopes }: VisitorCredential): string[] {
  return [...scopes].filter((scope) => preset.holds(scope));
}

/** The initial values of the form. */
export function presetValues(name: string | null, credential: VisitorCredential): Values {
  const preset = presets.find((one) => one.name === name);
  return preset === undefined
    ? { role: 'member', scopes: [] }
    : { role: preset.role, scopes: scopesOf(preset, credential) };
}

/** Links instead of buttons, so that they work without JavaScript and can be shared. */
export function presetLinks({ credential, query }: ScreenVisit): Markup {
  const chosen = presets.find(({ name }) => name === query.get('preset'));
  const offered = presets.filter(
    (preset) => scopesOf(preset, credential).length > 0 && !outranks(preset.role, credential.role),
  );
  const button = (label: string, preset: string | undefined) =>
    html`<a class="button" href="${link('/console/keys/new', { preset })}"${chosen?.name === preset && html` aria-current="true"`}>${label}</a> `;
  return html`<p class="presets">Preset: ${offered.map(({ name, label }) => button(label, name))}${button('Custom', undefined)}
<span class="quiet">${chosen?.purpose ?? 'Select the scopes yourself.'}</span></p>`;
}
