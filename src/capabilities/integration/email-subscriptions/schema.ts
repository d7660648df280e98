import { type Static, Type } from 'typebox';
import { alertEvents } from '../../../contract/alert-events.ts';
import { formatMessage } from '../../../contract/format-message.ts';
import { listParameters, searchFilter } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, nullable, partial, timestamp } from '../../../platform/http/routes/schemas.ts';
import { addressLengthMax, addressPattern } from '../../../platform/mail/addresses.ts';
import { mailErrors } from '../../../platform/mail/mailer.ts';
import { deliveryFailures, deliveryStates } from '../webhooks/index.ts';

export const recipientsMax = 20;

const recipients = Type.Array(
  Type.String({
    minLength: 3,
    maxLength: addressLengthMax,
    pattern: addressPattern,
    [formatMessage]: 'Must be an e-mail address.',
  }),
  {
    minItems: 1,
    maxItems: recipientsMax,
    uniqueItems: true,
    examples: [['ops@example.com']],
    description: 'E-mail addresses, without names. Each gets a message of its own.',
  },
);
const eventsMeaning = `Alerts: ${alertEvents.map((type) => `\`${type}\``).join(', ')}; \`limit.*\` for a group, \`*\` for all. May be empty if there is a digest.`;
const events = Type.Array(
  Type.String({
    maxLength: 100,
    pattern: '^(\\*|[a-z_]+\\.(\\*|[a-z_]+))$',
    [formatMessage]: 'Must be an alert, such as limit.exhausted, or a group of alerts, such as limit.*.',
  }),
  {
    maxItems: 50,
    uniqueItems: true,
    description: eventsMeaning,
  },
);
export const digests = ['weekly', 'none'] as const;
const digest = choice(
  digests,
  '`weekly`: a digest of the past week, on Monday at 9:00 in the time zone of the organization.',
);
const description = nullable(Type.String({ maxLength: 500 }));
const enabled = Type.Boolean({ description: 'False: nothing is sent, and nothing is sent later.' });

export const EmailSubscriptionView = closed({
  id,
  recipients: Type.Array(Type.String()),
  events: Type.Array(Type.String()),
  digest,
  description,
  enabled,
  created_at: timestamp,
  updated_at: timestamp,
});
export type EmailSubscriptionView = Static<typeof EmailSubscriptionView>;

export const CreateEmailSubscription = closed({
  recipients,
  events: Type.Optional(
    Type.Unsafe<string[]>({ ...events, description: `${eventsMeaning} Default: all of them.` }),
  ),
  digest: Type.Optional(Type.Unsafe<(typeof digests)[number]>({ ...digest, default: 'none' })),
  description: Type.Optional(description),
  enabled: Type.Optional(Type.Unsafe<boolean>({ ...enabled, default: true })),
});
export type CreateEmailSubscription = Static<typeof CreateEmailSubscription>;

export const PatchEmailSubscription = partial({ recipients, events, digest, description, enabled });
export type PatchEmailSubscription = Static<typeof PatchEmailSubscription>;

const sorts = { created_at: 'timestamptz' } as const;
export const EmailSubscriptionFilters = listParameters(sorts, {
  enabled: Type.Optional(Type.Boolean()),
  ...searchFilter('a recipient, the description or the id'),
});
export type EmailSubscriptionFilters = Static<typeof EmailSubscriptionFilters>;

export const EmailAttemptView = closed({
  at: timestamp,
  status: nullable(
    Type.Integer({ description: 'Reply code of the mail server, such as 250; null if there was no reply.' }),
  ),
  latency_ms: Type.Integer(),
  error: Type.Unsafe<(typeof mailErrors)[number] | null>({
    type: ['string', 'null'],
    enum: [...mailErrors, null],
    description: 'Reason why there was no reply, or `authentication`.',
  }),
  response: nullable(Type.String({ description: 'First characters of the reply.' })),
});

const failures = [...deliveryFailures.filter((failure) => failure !== 'gone'), 'rejected'] as const;

export const EmailDeliveryView = closed({
  id,
  event_id: id,
  event_type: Type.String(),
  recipient: nullable(Type.String()),
  state: choice(deliveryStates),
  failure: Type.Unsafe<(typeof failures)[number] | null>({
    type: ['string', 'null'],
    enum: [...failures, null],
    description:
      'Reason why there are no more retries: every attempt failed, the mail server rejected the recipient or the message, ' +
      'the subscription was turned off or deleted, too many deliveries were waiting, or it is too old.',
  }),
  next_attempt_at: nullable(timestamp),
  attempts: Type.Array(EmailAttemptView, { description: 'The latest attempts, oldest first.' }),
  created_at: timestamp,
  ended_at: nullable(timestamp),
});
export type EmailDeliveryView = Static<typeof EmailDeliveryView>;

export const SentTest = closed({ data: Type.Array(EmailDeliveryView) });
