/** Credit packs of end customers, and what is held at this moment. */
import {
  actionCard,
  askFirst,
  card,
  definitionList,
  empty,
  heading,
  nextPage,
  table,
} from '../../components.ts';
import { filterQuery } from '../../filters.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import { ago, exactUsd, time, usd } from '../../format.ts';
import type { Field } from '../../forms.ts';
import { localTime } from '../../forms.ts';
import { html, link, path } from '../../html.ts';
import { pathOf } from '../../operations.ts';
import { type Screen, view } from '../../screen.ts';

const back = '/console/limits?kind=credits';
const expiry: Field = {
  name: 'expires_at',
  label: 'Expires',
  kind: 'instant',
  whenEmpty: 'null',
  help: 'In the time zone of the org. Empty: never.',
};
const packName: Field = { name: 'name', label: 'Name', kind: 'text', whenEmpty: 'null' };

export const creditScreens: readonly Screen[] = [
  ...formScreens({
    path: '/console/limits/credits/new',
    title: 'New credit pack',
    intro: 'Credits that an end customer has bought. Its runs burn them, the soonest to expire first.',
    submit: 'Create the pack',
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
    intro: 'What was bought, and by whom, is a fact. To add credits, make another pack.',
    submit: 'Save',
    back,
    fields: () => [packName, expiry],
    async load({ api, org, params }) {
      const pack = await api.get<'credit_packs.read'>(org.path + pathOf('/credit-packs/{pack_id}', params));
      return { name: pack.name ?? '', expires_at: localTime(pack.expires_at, org.timezone) };
    },
    call: 'PATCH {org}/credit-packs/{pack_id}',
    done: 'saved',
    below: (visit) =>
      actionCard(
        'Void',
        askFirst(
          visit,
          {
            path: pathOf('/console/limits/credits/{pack_id}/void', visit.params),
            label: 'Void the pack',
            tone: 'danger',
          },
          'What is left of it is lost to the customer.',
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
              'Nothing is held',
              'While a call goes on, what it may cost is set aside. It is given back or charged when the run is posted, or when the hold expires.',
            )
          : html`${definitionList([['Held on this page', usd(sum)]])}${table({
              caption: 'Open holds',
              rows: data,
              columns: [
                { title: 'Admitted', cell: (hold) => time(hold.admitted_at, org.timezone) },
                { title: 'Model', cell: (hold) => hold.model ?? '–' },
                { title: 'Workflow', cell: (hold) => hold.workflow ?? '–' },
                { title: 'Customer', cell: (hold) => hold.customer_id ?? '–' },
                { title: 'Ends', cell: (hold) => ago(hold.expires_at, now) },
                { title: 'Held', isNumber: true, cell: (hold) => exactUsd(hold.held_usd) },
                {
                  title: '',
                  cell: (hold) =>
                    askFirst(
                      visit,
                      {
                        path: path`/console/limits/holds/${hold.decision_id}/void`,
                        label: 'Void',
                        about: `hold of ${hold.model ?? 'a call'}`,
                      },
                      'It gives back what it holds. If the call costs something after all, that is posted, late.',
                    ),
                },
              ],
            })}${nextPage('/console/limits/holds', query, next_cursor)}`;
      return view(
        'Open holds',
        html`${heading('Open holds', undefined, 'What is set aside for calls that go on, the oldest first.')}${card('Holds', list)}`,
      );
    },
  },
  actionScreen({
    path: '/console/limits/holds/{decision_id}/void',
    call: 'DELETE {org}/holds/{decision_id}',
    done: 'voided',
    back: '/console/limits/holds',
  }),
];
