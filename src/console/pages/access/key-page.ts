/** One API key of an organization: its page, and the form that changes its name and attribution. */
import { linkButton } from '../../buttons.ts';
import { card, definitionList, empty } from '../../components.ts';
import { paidForCard } from '../../cost-kinds.ts';
import { formScreens } from '../../form-screens.ts';
import { ago, humanize, time } from '../../format.ts';
import type { Field } from '../../forms.ts';
import { keyHoldField, keyReserveField } from '../../hold-options.ts';
import { html } from '../../html.ts';
import { badge } from '../../inline.ts';
import { pathOf } from '../../operations.ts';
import type { Responses } from '../../responses.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import {
  attributionBody,
  attributionEntries,
  attributionFormFields,
  attributionFormValues,
  withInvalidTags,
} from './key-attribution.ts';
import { scopeList, statusTones } from './key-cells.ts';

const keyPath = '/console/keys/{key_id}';

const name: Field = { name: 'name', label: 'Name', kind: 'text', required: true };

export const keyPageScreens: readonly Screen[] = [
  { path: keyPath, audience: 'org', handler: page },
  ...formScreens<'keys.change'>({
    path: `${keyPath}/edit`,
    title: 'Edit API key',
    intro: 'Changes apply to the next request with the key. Role and scopes cannot be changed.',
    submit: 'Save',
    back: keyPath,
    fields: () => [name, ...attributionFormFields, keyHoldField, keyReserveField],
    async load(visit) {
      const key = await keyOf(visit);
      return {
        name: key.name,
        ...attributionFormValues(key),
        hold: key.hold ?? '',
        reserve_for_running: String(key.reserve_for_running ?? ''),
      };
    },
    check: withInvalidTags,
    body: attributionBody,
    call: 'PATCH {org}/keys/{key_id}',
  }),
];

function keyOf({ api, org, params }: ScreenVisit): Promise<Responses['keys.read']> {
  return api.get<'keys.read'>(org.path + pathOf('/keys/{key_id}', params));
}

async function page(visit: ScreenVisit) {
  const { org, now } = visit;
  const [key, paidFor] = await Promise.all([
    keyOf(visit),
    paidForCard(visit, { key_id: visit.params.key_id ?? '' }),
  ]);
  const entries = attributionEntries(key);
  const edit =
    key.status !== 'revoked' &&
    linkButton(visit, { path: pathOf(`${keyPath}/edit`, visit.params), label: 'Edit', tone: 'primary' });
  return view({ title: key.name, actions: edit, intro: html`<code>${key.hint}</code>` })`
${card(
  'Details',
  definitionList([
    ['Status', badge(humanize(key.status), statusTones[key.status] ?? 'plain')],
    ['Role', key.role],
    ['Scopes', scopeList(key)],
    ['Last used', ago(key.last_used_at, now)],
    ['Expires', key.expires_at === null ? 'never' : time(key.expires_at, org.timezone)],
    ['Created', time(key.created_at, org.timezone)],
    ['Id', html`<code>${key.id}</code>`],
  ]),
)}
${card(
  'Attribution',
  entries.length === 0
    ? empty('No attribution', 'Decisions and runs have only the values that they state.')
    : definitionList(entries),
)}
${paidFor}
<p><a class="button" href="/console/keys">All API keys</a></p>`;
}
