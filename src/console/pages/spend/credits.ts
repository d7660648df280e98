/** Forms of credit packs, and the list of open holds. */
import { actionCard, confirmButton } from '../../buttons.ts';
import { card, definitionList, empty, nextPage } from '../../components.ts';
import { filterQuery } from '../../filters.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import { ago, exactUsd, time, usd } from '../../format.ts';
import type { Field } from '../../forms.ts';
import { localTime } from '../../forms.ts';
import { html, link, path } from '../../html.ts';
import { pathOf } from '../../operations.ts';
import { type Screen, view } from '../../screen.ts';
import { table } from '../../table.ts';

const back = '/console/limits?kind=credits';
const expiry: Field = {
  name: 'expires_at',
  label: 'Expires',
  kind: 'instant',
  whenEmpty: 'null',
  help: 'In the time zone of the organization. Leave blank for no expiry.',
};
/** The expiry as the form shows it: to the minute, so that the same text sent back would change the expiry. */
const shownExpiry: Field = { name: 'shown_expires_at', label: 'Expiry as shown', kind: 'hidden' };
const packName: Field = { name: 'name', label: 'Name', kind: 'text', whenEmpty: 'null' };

export const creditScreens: readonly Screen[] = [
  ...formScreens({
    path: '/console/limits/credits/new',
    title: 'Create credit pack',
    intro: 'Credits of a customer. Its runs use them, earliest expiry first.',
    submit: 'Create credit pack',
    back,
    fields: () => [
      { name: 'customer_id', label: 'Customer', kind: 'text', required: true },
      { name: 'amount_usd', label: 'Amount', kind: 'money', required: true },
      packName,
      expiry,
    ],
    call: 'POST {org}/credit-packs',
    done: 'pack_created',
  }),
  ...formScreens({
    path: '/console/limits/credits/{pack_id}',
    title: 'Credit pack',
    intro: 'Amount and customer cannot be changed. To add credits, create another pack.',
    submit: 'Save',
    back,
    fields: () => [packName, expiry, shownExpiry],
    async load({ api, org, params }) {
      const pack = await api.get<'credit_packs.read'>(org.path + pathOf('/credit-packs/{pack_id}', params));
      const expires_at = localTime(pack.expires_at, org.timezone);
      return { name: pack.name ?? '', expires_at, shown_expires_at: expires_at };
    },
    call: 'PATCH {org}/credit-packs/{pack_id}',
    body: ({ expires_at, shown_expires_at: _, ...pack }, { form }) =>
      form.get(expiry.name) === form.get(shownExpiry.name) ? pack : { ...pack, expires_at },
    done: 'saved',
    below: (visit, { name: thing }) =>
      actionCard(
        'Void',
        confirmButton(
          visit,
          {
            path: pathOf('/console/limits/credits/{pack_id}/void', visit.params),
            label: 'Void credit pack',
            thing: String(thing),
            tone: 'danger',
          },
          'Unused credits are forfeited. This cannot be undone.',
        ),
      ),
  }),
  actionScreen({
    path: '/console/limits/credits/{pack_id}/void',
    call: 'DELETE {org}/credit-packs/{pack_id}',
    done: 'voided',
    back,
  }),
  {
    path: '/console/limits/holds',
    audience: 'org',
    async handler(visit) {
      const { api, org, query, now } = visit;
      const { data, next_cursor } = await api.get<'holds.list'>(
        link(`${org.path}/holds`, { ...filterQuery(query), limit: '50' }),
      );
      const sum = data.reduce((total, { held_usd }) => total + Number(held_usd), 0);
      const list =
        data.length === 0
          ? empty(
              'No open reservations',
              'The maximum cost of a call in progress is reserved until the run is reported or the reservation expires.',
            )
          : html`${definitionList([['Reserved on this page', usd(sum)]])}${table({
              caption: 'Open reservations',
              rows: data,
              columns: [
                { title: 'Time', cell: (hold) => time(hold.admitted_at, org.timezone) },
                { title: 'Model', cell: (hold) => hold.model ?? '–' },
                { title: 'Workflow', cell: (hold) => hold.workflow ?? '–' },
                { title: 'Customer', cell: (hold) => hold.customer_id ?? '–' },
                { title: 'Expires', cell: (hold) => ago(hold.expires_at, now) },
                { title: 'Reserved', isNumber: true, cell: (hold) => exactUsd(hold.held_usd) },
                {
                  title: '',
                  cell: (hold) =>
                    confirmButton(
                      visit,
                      {
                        path: path`/console/limits/holds/${hold.decision_id}/void`,
                        label: 'Void',
                        about: `reservation of ${hold.model ?? 'a call'}`,
                      },
                      'Releases the reserved amount. If the call still has a cost, it is charged late.',
                    ),
                },
              ],
            })}${nextPage('/console/limits/holds', query, next_cursor)}`;
      return view({
        title: 'Open reservations',
        intro: 'Spend reserved for calls in progress, oldest first.',
      })`
${card('Reservations', list)}`;
    },
  },
  actionScreen({
    path: '/console/limits/holds/{decision_id}/void',
    call: 'DELETE {org}/holds/{decision_id}',
    done: 'voided',
    back: '/console/limits/holds',
  }),
];
