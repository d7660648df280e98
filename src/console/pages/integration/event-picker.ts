/** The events of a webhook as check boxes: all, a group such as `limit.*`, or single types, each with an example. */
import { type AlertEvent, alertEvents } from '../../../contract/alert-events.ts';
import { type EventType, eventKind, eventTypes } from '../../../contract/events.ts';
import { capitalized, humanize } from '../../format.ts';
import type { Field } from '../../forms.ts';
import { html, type Markup } from '../../html.ts';
import type { OptionGroup } from '../../option-groups.ts';

const everything = '*';
/** Stands for the alerts that exist now. */
const allAlerts = 'alerts';
/** Titles of groups that are not called what their prefix says. */
const titles: Readonly<Record<string, string>> = {
  edge: 'Decisions',
  eval: 'Eval results',
  key: 'API key',
  org: 'Organization',
  org_price: 'Custom price',
  sso: 'Single sign-on',
};
/** The values of an event that do not depend on its type. */
const exampleHead = { id: 'evt_01hzy4t0000000000000000000', created_at: '2026-11-16T09:30:00.000Z' };
/** Stands in examples for the id of the organization. */
const orgPlaceholder = '{org}';

/** Made once: explanations are the largest part of their pages, and differ only by the organization. */
const explanations = new Map<EventType, (orgId: string) => Markup>();

/** Sorted into groups once, because there are many types. */
const typesByGroup = new Map<string, EventType[]>();
for (const type of eventTypes) {
  const types = typesByGroup.get(groupOf(type)) ?? [];
  typesByGroup.set(groupOf(type), [...types, type]);
}

function eventGroups(orgId: string): OptionGroup[] {
  return [...typesByGroup].map(([group, types]) => {
    const title = titles[group] ?? capitalized(humanize(group));
    const all = { value: `${group}.*`, label: `All ${humanize(group)} events, including future ones` };
    const each = types.map((type) => ({ value: type, label: type, help: explanation(type, orgId) }));
    return { title, options: types.length > 1 ? [all, ...each] : each };
  });
}

/** `selected`: patterns of an existing subscription, which may have types that this version does not list. */
export function eventsField(orgId: string, selected: readonly string[] = []): Field {
  const groups = eventGroups(orgId);
  const listed = new Set(
    groups.flatMap(({ options }) => options.map(({ value }) => value)).concat(everything),
  );
  const others = selected.filter((pattern) => !listed.has(pattern));
  return {
    name: 'events',
    label: 'Events',
    kind: 'checkboxes',
    required: true,
    help: 'Select at least one. A group includes its events.',
    groups: [
      {
        title: 'All events',
        options: [{ value: everything, label: 'All events, including future ones' }],
        isOpen: true,
      },
      {
        title: 'Alerts',
        options: [
          {
            value: allAlerts,
            label: 'All alerts',
            help: html`<p class="help">What people must act on: limits, missing prices, expiring keys and more. Slack and Microsoft Teams get alerts only.</p>`,
          },
        ],
        isOpen: true,
      },
      ...groups,
      ...(others.length > 0
        ? [{ title: 'Other', options: others.map((value) => ({ value, label: value })) }]
        : []),
    ],
  };
}

const alertLabels: Readonly<Record<AlertEvent, string>> = {
  'limit.threshold_reached': 'A limit reached an alert threshold',
  'limit.exhausted': 'A limit blocked a request',
  'limit.exhaustion_forecast': 'A limit is forecast to run out',
  'price.missing': 'A run could not be priced',
  'model.unpriced': 'A model without a price was used',
  'run.unsettled': 'A reservation expired without a run',
  'statement.drift': "A provider's statement differs from the ledger",
  'key.expiring': 'An API key expires soon',
  'approval.requested': 'A run needs an approval',
  'raise.requested': 'Someone asks to raise a limit',
  'webhook.disabled': 'A webhook was disabled',
  'org.suspended': 'The organization was suspended',
};

/** The name of an alert for people; other events are called by their type. */
export function alertLabel(type: string): string {
  return alertLabels[type as AlertEvent] ?? type;
}

/** The alerts that people can get by e-mail, without the digest. */
export function alertsField(selected: readonly string[] = []): Field {
  const others = selected.filter((pattern) => !(alertEvents as readonly string[]).includes(pattern));
  return {
    name: 'events',
    label: 'Alerts',
    kind: 'checkboxes',
    groups: [
      {
        title: 'Alerts',
        options: alertEvents.map((type) => ({ value: type, label: alertLabels[type] })),
        isOpen: true,
      },
      ...(others.length > 0
        ? [{ title: 'Other', options: others.map((value) => ({ value, label: value })) }]
        : []),
    ],
  };
}

function groupOf(type: string): string {
  return type.split('.')[0] ?? type;
}

function explanation(type: EventType, orgId: string): Markup {
  const explain = explanations.get(type) ?? makeExplanation(type);
  explanations.set(type, explain);
  return explain(orgId);
}

function makeExplanation(type: EventType): (orgId: string) => Markup {
  const { meaning, example } = eventKind(type);
  const payload = JSON.stringify({ ...exampleHead, type, org_id: orgPlaceholder, data: example }, null, 2);
  const [before = '', after = ''] = payload.split(orgPlaceholder);
  const opening = html`<p class="help">${meaning}</p>
<details class="example"><summary>Example<span class="hidden"> of ${type}</span></summary><pre class="scroll" tabindex="0">${before}`;
  const closing = html`${after}</pre></details>`;
  return (orgId) => html`${opening}${orgId}${closing}`;
}

/** Drops patterns that another selected pattern includes. */
export function withoutIncluded(selected: readonly string[]): string[] {
  if (selected.includes(everything)) {
    return [everything];
  }
  const patterns = selected.includes(allAlerts)
    ? [...new Set([...alertEvents, ...selected.filter((pattern) => pattern !== allAlerts)])]
    : selected;
  return patterns.filter((pattern) => pattern.endsWith('.*') || !patterns.includes(`${groupOf(pattern)}.*`));
}
