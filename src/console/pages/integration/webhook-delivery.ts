/** Deliveries of a webhook: their list, and the page of one with its payload and attempts. */
import { actionButton, buttonTo } from '../../buttons.ts';
import { card, cardOf, definitionList, empty } from '../../components.ts';
import { isFiltered } from '../../filters.ts';
import { humanize, milliseconds, time } from '../../format.ts';
import { html, type Part, path } from '../../html.ts';
import { badge, nowrap, subline, type Tone } from '../../inline.ts';
import { pathOf } from '../../operations.ts';
import type { Responses } from '../../responses.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { table } from '../../table.ts';

const deliveryPath = '/console/webhooks/{sub_id}/deliveries/{delivery_id}';

type DeliveryResponse = Responses['webhooks.deliveries.read'];

/** Query parameters of the webhook's page that report a redelivery. */
export const notFilters = ['redelivering', 'more'];

export const deliveryScreens: readonly Screen[] = [
  { path: deliveryPath, audience: 'org', handler: delivery },
];

const tones: Readonly<Record<string, Tone>> = { delivered: 'good', failed: 'bad', waiting: 'info' };

interface DeliveryProgress extends Pick<DeliveryResponse, 'state' | 'next_attempt_at'> {
  readonly failure: string | null;
}

interface DeliveryTexts {
  /** The name of the state `delivered`. */
  readonly delivered?: string;
  /** The last response of the receiver. */
  readonly reply?: string | null;
}

/** Returns the status of a delivery, by webhook or by e-mail. */
export function deliveryStatus(
  { state, failure, next_attempt_at }: DeliveryProgress,
  timezone: string,
  { delivered = 'Delivered', reply }: DeliveryTexts = {},
): Part {
  const label = state === 'delivered' ? delivered : state === 'waiting' ? 'Pending' : state;
  return [
    badge(label, tones[state] ?? 'plain'),
    subline(failure !== null && humanize(failure)),
    state !== 'delivered' && subline(reply),
    subline(next_attempt_at !== null && html`next attempt ${time(next_attempt_at, timezone)}`),
  ];
}

async function delivery(visit: ScreenVisit) {
  const { api, org, params } = visit;
  const apiPath = org.path + pathOf('/webhooks/{sub_id}/deliveries/{delivery_id}', params);
  const [found, payload] = await Promise.all([
    api.get<'webhooks.deliveries.read'>(apiPath),
    api.tryGet<'webhooks.deliveries.payload'>(`${apiPath}/payload`),
  ]);
  const buttons = html`<a class="button" href="${pathOf('/console/webhooks/{sub_id}', params)}">Back to webhook</a>${
    found.state !== 'waiting' &&
    actionButton(visit, { path: `${pathOf(deliveryPath, params)}/redeliver`, label: 'Redeliver' })
  }`;
  return view({ title: 'Delivery', heading: `Delivery of ${found.event_type}`, actions: buttons })`
${card(
  'Details',
  definitionList([
    ['Status', deliveryStatus(found, org.timezone)],
    ['Created', time(found.created_at, org.timezone)],
    ['Ended', time(found.ended_at, org.timezone)],
    ['Event ID', html`<code>${found.event_id}</code>`],
    ['Delivery ID', html`<code>${found.id}</code>`],
  ]),
)}
${cardOf('Payload', payload, (event) => html`<pre class="snippet scroll" tabindex="0">${JSON.stringify(event, null, 2)}</pre>`)}
${card('Attempts', attemptTable(found.attempts, org.timezone))}`;
}

function attemptTable(attempts: DeliveryResponse['attempts'], timezone: string): Part {
  return attempts.length === 0
    ? html`<p class="quiet">No attempts yet.</p>`
    : table({
        caption: 'Attempts',
        rows: attempts,
        columns: [
          { title: 'Time', cell: (one) => nowrap(time(one.at, timezone)) },
          { title: 'Response', cell: (one) => one.status ?? humanize(one.error ?? '') },
          { title: 'Latency', isNumber: true, cell: (one) => milliseconds(one.latency_ms) },
          {
            title: 'Body',
            cell: (one) => one.response !== null && one.response !== '' && html`<code>${one.response}</code>`,
          },
        ],
      });
}

export function deliveryList(
  deliveries: readonly DeliveryResponse[],
  here: string,
  visit: ScreenVisit,
  next: Part,
): Part {
  const { timezone } = visit.org;
  if (deliveries.length === 0) {
    return isFiltered(visit.query, notFilters)
      ? empty('No matches', 'Try removing a filter.', buttonTo(here, 'Clear filters'))
      : empty('No deliveries', 'Deliveries of subscribed events appear here. Send a test event to see one.');
  }
  return html`${table({
    caption: 'Deliveries',
    rows: deliveries,
    columns: [
      { title: 'Time', cell: (one) => nowrap(time(one.created_at, timezone)) },
      {
        title: 'Event',
        cell: (one) =>
          html`<a href="${here}${path`/deliveries/${one.id}`}">${one.event_type}</a><span class="sub"><code>${one.event_id}</code></span>`,
      },
      { title: 'Status', cell: (one) => deliveryStatus(one, timezone) },
      { title: 'Attempts', cell: (one) => attempts(one.attempts, timezone) },
      {
        title: '',
        cell: (one) =>
          one.state !== 'waiting' &&
          actionButton(visit, {
            path: `${here}${path`/deliveries/${one.id}/redeliver`}`,
            label: 'Redeliver',
            about: one.event_type,
          }),
      },
    ],
  })}${next}`;
}

function attempts(made: DeliveryResponse['attempts'], timezone: string): Part {
  const last = made.at(-1);
  return (
    last !== undefined &&
    html`<details><summary>${made.length}, last: ${last.status ?? humanize(last.error ?? '')}</summary>
<ul class="attempts">${made.map(
      ({ at, status, error, latency_ms, response }) =>
        html`<li>${time(at, timezone)}: <strong>${status ?? humanize(error ?? '')}</strong>, ${milliseconds(latency_ms)}${
          response !== '' && subline(response)
        }</li>`,
    )}</ul></details>`
  );
}
