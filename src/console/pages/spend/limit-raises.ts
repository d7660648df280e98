/** Temporary raises of a limit: its history on the page of the limit, the form that makes one, and the button that ends one. */
import { Temporal } from 'temporal-polyfill';
import { ApiFailure } from '../../api.ts';
import { confirmButton, linkButton } from '../../buttons.ts';
import { card, empty } from '../../components.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import { ago, time, usd } from '../../format.ts';
import type { Field } from '../../forms.ts';
import { html, link, type Markup, path } from '../../html.ts';
import { badge, nowrap, subline } from '../../inline.ts';
import { fieldName } from '../../limit-names.ts';
import { type Actors, actorLink, actorsById } from '../../names.ts';
import type { Item } from '../../responses.ts';
import type { Call, Screen, ScreenVisit } from '../../screen.ts';
import { table } from '../../table.ts';
import type { LimitResponse } from '../../views.ts';

type RaiseItem = Item<'budgets.raises.list'>;

/** Where the raises of a kind of limits are, below the organization in the API and in the console. */
interface RaisePaths {
  readonly api: string;
  readonly console: string;
  /** The parameter with the id of a raise. */
  readonly raise: string;
  /** The page after a raise has changed. */
  readonly back: string;
}

const raisableKinds: Readonly<Record<string, RaisePaths>> = {
  budget: {
    api: '/budgets/{budget_id}/raises',
    console: '/console/limits/budgets/{budget_id}/raises',
    raise: 'raise_id',
    back: '/console/limits/{budget_id}',
  },
  customer: {
    api: '/customer-limits/{limit_id}/raises',
    console: '/console/limits/customers/{limit_id}/raises',
    raise: 'limit_raise_id',
    back: '/console/limits/{limit_id}',
  },
  spend_cap: {
    api: '/spend-cap/raises',
    console: '/console/limits/spend-cap/raises',
    raise: 'cap_raise_id',
    back: '/console/limits',
  },
};

const fields: readonly Field[] = [
  {
    name: 'amount_usd',
    label: 'Raise by',
    kind: 'money',
    required: true,
    help: 'Added to the limit of every period until the raise ends.',
  },
  {
    name: 'until',
    label: 'Until',
    kind: 'instant',
    required: true,
    help: 'Ends by itself. At most one year ahead.',
  },
  { name: 'reason', label: 'Reason', kind: 'text', required: true },
  {
    name: 'scope_id',
    label: 'Only for the value',
    kind: 'text',
    help: 'For a limit of each value (*), such as one member. Leave blank to raise each value.',
  },
];

export const limitRaiseScreens: readonly Screen[] = Object.values(raisableKinds).flatMap((kind) => [
  ...formScreens({
    path: `${kind.console}/new`,
    title: 'Raise limit',
    intro: 'More for a while. Calls that a raise allowed continue after its end.',
    submit: 'Raise limit',
    back: kind.back,
    fields: () => fields,
    load: async ({ org, now, query }) => ({
      until: tomorrowMorning(now, org.timezone),
      scope_id: query.get('scope_id') ?? '',
    }),
    call: `POST {org}${kind.api}` as Call,
    done: 'limit_raised',
  }),
  actionScreen({
    path: `${kind.console}/{${kind.raise}}/end`,
    call: `DELETE {org}${kind.api}/{${kind.raise}}` as Call,
    done: 'raise_ended',
    back: kind.back,
  }),
]);

/** Returns true for a limit of a kind that can be raised. */
export function isRaisable({ kind }: { readonly kind: string }): boolean {
  return Object.hasOwn(raisableKinds, kind);
}

/** The next day at nine o'clock, as the initial value of the form. */
export function tomorrowMorning(now: Date, timezone: string): string {
  return Temporal.Instant.fromEpochMilliseconds(now.getTime())
    .toZonedDateTimeISO(timezone)
    .toPlainDate()
    .add({ days: 1 })
    .toPlainDateTime({ hour: 9 })
    .toString({ smallestUnit: 'minute' });
}

/** The path of the form that raises a limit; undefined if its kind cannot be raised. */
export function raisePath({ kind, id }: { readonly kind: string; readonly id: string }): string | undefined {
  const raisable = raisableKinds[kind];
  return raisable && `${raisable.console.replace(/\{\w+\}/, encodeURIComponent(id))}/new`;
}

/** The raises of a limit, the latest first; undefined if its kind cannot be raised, or the visitor may not read them. */
export async function raisesOf(limit: LimitResponse, visit: ScreenVisit): Promise<Markup | undefined> {
  const raisable = raisableKinds[limit.kind];
  const form = raisePath(limit);
  if (raisable === undefined || form === undefined) {
    return undefined;
  }
  const { api, org } = visit;
  const list = raisable.api.replace(/\{\w+\}/, encodeURIComponent(limit.id));
  const raises = await api.tryGet<'budgets.raises.list'>(link(`${org.path}${list}`, { limit: '20' }));
  if (raises instanceof ApiFailure) {
    return undefined;
  }
  const { data } = raises;
  const actors = await actorsById(
    api,
    org,
    data.flatMap(({ created_by, ended_by }) => [created_by, ended_by]),
  );
  const button = linkButton(visit, { path: form, label: 'Raise until …' });
  return card('Raises', [
    data.length === 0
      ? empty('Never raised', 'Allow more for a while; a raise ends by itself.')
      : raiseTable(data, limit, visit, actors),
    button !== false && html`<div class="form-end">${button}</div>`,
  ]);
}

function raiseTable(
  raises: readonly RaiseItem[],
  limit: LimitResponse,
  visit: ScreenVisit,
  actors: Actors,
): Markup {
  const { org, now } = visit;
  const field = Object.keys(limit.match).find((name) => limit.match[name] === '*');
  const endPath = (id: string) => raisePath(limit)?.replace(/new$/, path`${id}/end`) ?? '';
  return table({
    caption: 'Raises',
    rows: raises,
    columns: [
      {
        title: 'Amount',
        isNumber: true,
        cell: ({ amount_usd, scope_id }) =>
          html`+${usd(amount_usd)}${
            field !== undefined &&
            subline(scope_id === null ? `each ${fieldName(field)}` : `${fieldName(field)} ${scope_id}`)
          }`,
      },
      {
        title: 'Until',
        cell: ({ until, state }) =>
          html`${nowrap(time(until, org.timezone))}${subline(state === 'active' && ago(until, now))}`,
      },
      { title: 'Reason', cell: ({ reason }) => reason },
      {
        title: 'Raised by',
        cell: ({ created_by, created_at }) =>
          html`${actorLink(created_by, actors)}${subline(time(created_at, org.timezone))}`,
      },
      {
        title: 'Status',
        cell: ({ state, ended_by, ended_at }) =>
          state === 'active'
            ? badge('Active', 'good')
            : html`${badge('Ended', 'plain')}${subline(
                ended_by !== null && html`by ${actorLink(ended_by, actors)}, ${ago(ended_at, now)}`,
              )}`,
      },
      {
        title: '',
        cell: ({ id, state, amount_usd }) =>
          state === 'active' &&
          confirmButton(
            visit,
            {
              path: endPath(id),
              label: 'End',
              tone: 'danger',
              about: `the raise by ${usd(amount_usd)}`,
            },
            'The next request has the limit without this raise. Calls in progress continue.',
          ),
      },
    ],
  });
}
