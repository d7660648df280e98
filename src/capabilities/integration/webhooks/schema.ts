import { type Static, Type } from 'typebox';
import { formatMessage } from '../../../contract/format-message.ts';
import { listParameters, searchFilter } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, nullable, partial, timestamp } from '../../../platform/http/routes/schemas.ts';

const url = Type.String({
  minLength: 1,
  maxLength: 2_000,
  examples: ['https://receiver.example/hook'],
  description:
    'URL that events are posted to: `https`, without credentials. `http` and private addresses only if the ' +
    'deployment allows them.',
});
const eventsMeaning = 'Event types, as listed at `GET /v1/meta/events`; `budget.*` for a group, `*` for all.';
export const eventPatterns = Type.Array(
  Type.String({
    maxLength: 100,
    pattern: '^(\\*|[a-z_]+\\.(\\*|[a-z_]+))$',
    [formatMessage]:
      'Must be an event type, such as budget.created, a group, such as budget.*, or * for all.',
  }),
  {
    minItems: 1,
    maxItems: 50,
    uniqueItems: true,
    description: eventsMeaning,
  },
);
const description = nullable(Type.String({ maxLength: 500 }));

function choiceOrNull<const Words extends readonly string[]>(words: Words, description: string) {
  return Type.Unsafe<Words[number] | null>({ type: ['string', 'null'], enum: [...words, null], description });
}

export const subscriptionStatuses = ['active', 'paused', 'disabled'] as const;
export type SubscriptionStatus = (typeof subscriptionStatuses)[number];

/** The formats of messages: `json` for programs, the others for people. */
export const webhookFormats = ['json', 'slack', 'teams'] as const;
export type WebhookFormat = (typeof webhookFormats)[number];

const format = choice(
  webhookFormats,
  '`json`: the event, for programs. `slack`: a message for an incoming webhook of Slack. `teams`: a card for a workflow of ' +
    'Microsoft Teams. The last two are for alerts only.',
);

export const SubscriptionView = closed({
  id,
  url: Type.String(),
  format,
  events: Type.Array(Type.String()),
  description,
  status: choice(
    subscriptionStatuses,
    '`paused`: deliveries wait. `disabled`: turned off by the service; gets no more deliveries.',
  ),
  disabled_reason: choiceOrNull(
    ['gone', 'failing'],
    '`gone`: the receiver returned 410. `failing`: every attempt failed for 5 days.',
  ),
  disabled_at: nullable(timestamp),
  event_version: Type.Unsafe<1 | 2>({
    type: 'integer',
    enum: [1, 2],
    description:
      "2: signed with its own secret. 1: signed with the organization's secret, which is deprecated.",
  }),
  created_at: timestamp,
  updated_at: timestamp,
});
export type SubscriptionView = Static<typeof SubscriptionView>;

export const CreateSubscription = closed({
  url,
  format: Type.Optional(Type.Unsafe<WebhookFormat>({ ...format, default: 'json' })),
  events: Type.Optional(
    Type.Unsafe<string[]>({
      ...eventPatterns,
      description: `${eventsMeaning} Required if the format is \`json\`; otherwise all alerts by default.`,
    }),
  ),
  description: Type.Optional(description),
  create_secret: Type.Optional(
    Type.Boolean({
      description:
        'Creates a secret of its own with the subscription, so that no delivery is signed with the ' +
        "organization's secret. Default: false.",
    }),
  ),
});
export type CreateSubscription = Static<typeof CreateSubscription>;

export const CreatedSubscription = closed({
  ...SubscriptionView.properties,
  secret: Type.Optional(
    Type.String({ description: 'Only if `create_secret` was set. It is shown only once.' }),
  ),
});

export const PatchSubscription = partial({ url, format, events: eventPatterns, description });
export type PatchSubscription = Static<typeof PatchSubscription>;

export const subscriptionSorts = { created_at: 'timestamptz' } as const;
export const SubscriptionFilters = listParameters(subscriptionSorts, {
  status: Type.Optional(choice(subscriptionStatuses)),
  ...searchFilter('the URL or id'),
});
export type SubscriptionFilters = Static<typeof SubscriptionFilters>;

const fingerprint = Type.String({
  description:
    'First characters of the SHA-256 of the secret, in hex: identifies a secret without showing it.',
});

export const SigningView = closed({
  event_version: SubscriptionView.properties.event_version,
  fingerprint: nullable(fingerprint),
  created_at: nullable(timestamp),
  age_seconds: nullable(Type.Integer({ minimum: 0 })),
  overlap_ends_at: nullable(
    Type.String({ format: 'date-time', description: 'Until then the previous secret signs too.' }),
  ),
  previous_fingerprint: nullable(fingerprint),
});
export type SigningView = Static<typeof SigningView>;

export const RotateSigning = closed({
  force: Type.Optional(
    Type.Boolean({ description: 'Rotates also during an overlap; the older of the two secrets ends.' }),
  ),
});

export const RotatedSigning = closed({
  ...SigningView.properties,
  secret: Type.String({ description: 'The new secret. It is shown only once.' }),
});
export type RotatedSigning = Static<typeof RotatedSigning>;

export const OrgSecretView = closed({
  secret: Type.String({ description: 'Signs for subscriptions without their own secret.' }),
  fingerprint,
  created_at: timestamp,
});
export type OrgSecretView = Static<typeof OrgSecretView>;

export const deliveryStates = ['waiting', 'delivered', 'failed'] as const;
export type DeliveryState = (typeof deliveryStates)[number];

/** Reasons why an attempt got no response. */
export const attemptErrors = [
  'timeout',
  'address_not_allowed',
  'name_not_resolved',
  'connection_refused',
  'connection_reset',
  'tls',
  'invalid_answer',
  'network',
] as const;
export type AttemptError = (typeof attemptErrors)[number];

export const AttemptView = closed({
  at: timestamp,
  status: nullable(Type.Integer({ description: 'HTTP status of the response; null if there was none.' })),
  latency_ms: Type.Integer(),
  error: choiceOrNull(attemptErrors, 'Reason why there was no response.'),
  response: nullable(Type.String({ description: 'First bytes of the response.' })),
});
export type AttemptView = Static<typeof AttemptView>;

export const deliveryFailures = [
  'attempts_exhausted',
  'gone',
  'disabled',
  'queue_full',
  'event_gone',
] as const;
/** `rejected`: the mail server rejected the recipient or the message for good. */
export type DeliveryFailure = (typeof deliveryFailures)[number] | 'rejected';

export const DeliveryView = closed({
  id,
  event_id: id,
  event_type: Type.String(),
  state: choice(deliveryStates),
  failure: choiceOrNull(
    deliveryFailures,
    'Reason why there are no more retries: every attempt failed, the receiver returned 410, the subscription ' +
      'was disabled or deleted, too many deliveries were waiting, or it is too old.',
  ),
  next_attempt_at: nullable(timestamp),
  attempts: Type.Array(AttemptView, { description: 'The latest attempts, oldest first.' }),
  created_at: timestamp,
  ended_at: nullable(timestamp),
});
export type DeliveryView = Static<typeof DeliveryView>;

export const EventPayload = closed({
  id,
  type: Type.String(),
  created_at: timestamp,
  org_id: id,
  data: Type.Unsafe<object>({ type: 'object', description: 'Depends on the type.' }),
});
export type EventPayload = Static<typeof EventPayload>;

const deliverySorts = { created_at: 'timestamptz' } as const;
export const DeliveryFilters = listParameters(deliverySorts, {
  state: Type.Optional(choice(deliveryStates)),
  event_type: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  event_id: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  from: Type.Optional(timestamp),
  to: Type.Optional(timestamp),
});
export type DeliveryFilters = Static<typeof DeliveryFilters>;

export const RedeliverRange = closed({
  from: timestamp,
  to: Type.Optional(Type.String({ ...timestamp, description: 'RFC 3339 with offset. Default: now.' })),
  state: Type.Optional(choice(['failed', 'delivered'], 'Deliveries to select. Default: failed.')),
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4_000,
      description: '`next_cursor` of the previous response.',
    }),
  ),
});
export type RedeliverRange = Static<typeof RedeliverRange>;

export const RedeliveredRange = closed({
  redelivering: Type.Integer({ description: 'Number of requeued deliveries.' }),
  more: Type.Boolean({ description: 'There are more in the range: repeat with `cursor`.' }),
  next_cursor: nullable(
    Type.String({ description: 'Cursor for the next request; null if there are no more.' }),
  ),
});
export type RedeliveredRange = Static<typeof RedeliveredRange>;
