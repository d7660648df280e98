/**
 * Builds the message of an event: its text, with the names that the event does not have. They are read when the message is sent,
 * so a limit has the name that people know.
 */
import { findLimitsEvenEnded } from '../../../ledger/limits/limits.ts';
import type { Database } from '../../../platform/db/database.ts';
import { shortened } from '../../../platform/shortened-text.ts';
import { findOrg } from '../../access/orgs/index.ts';
import type { Event } from '../webhooks/index.ts';
import type { AlertText, Message } from './alert-text.ts';
import { type DigestData, digestText } from './digest-text.ts';
import {
  approvalText,
  driftText,
  keyExpiringText,
  otherText,
  priceMissingText,
  suspendedText,
  testText,
  unpricedModelText,
  unsettledText,
  webhookDisabledText,
} from './event-texts.ts';
import {
  exhaustedText,
  forecastText,
  type LimitData,
  raiseRequestText,
  thresholdText,
} from './limit-texts.ts';

export interface MessageDependencies {
  readonly db: Database;
  baseUrl(): string;
}

const orgNameCharsMax = 100;

export type BuildMessage = (event: Event) => Promise<Message>;

export function createMessages({ db, baseUrl }: MessageDependencies): BuildMessage {
  return async (event) => {
    const org = await findOrg(db, event.orgId);
    const timezone = org?.timezone ?? 'UTC';
    const text = isAboutLimit(event.type) ? await textOfLimit(event, timezone) : textOf(event, timezone);
    return {
      ...text,
      orgName: shortened(org?.name ?? event.orgId, orgNameCharsMax),
      eventId: event.id,
      eventType: event.type,
      at: event.createdAt,
      url: `${baseUrl()}${text.page.path}`,
    };
  };

  async function textOfLimit({ type, orgId, data }: Event, timezone: string): Promise<AlertText> {
    const about = data as LimitData;
    const [row] = await findLimitsEvenEnded(db, orgId, [about.limit_id]);
    const context = { row, timezone };
    switch (type) {
      case 'limit.threshold_reached':
        return thresholdText(data as Parameters<typeof thresholdText>[0], context);
      case 'limit.exhausted':
        return exhaustedText(data as Parameters<typeof exhaustedText>[0], context);
      case 'limit.exhaustion_forecast':
        return forecastText(data as Parameters<typeof forecastText>[0], context);
      case 'raise.requested':
        return raiseRequestText(data as Parameters<typeof raiseRequestText>[0], context);
      default:
        return otherText(type);
    }
  }
}

function isAboutLimit(type: string): boolean {
  return type.startsWith('limit.') || type === 'raise.requested';
}

/** The data of an event has the form that the catalog declares for its type. */
function textOf({ type, data }: Event, timezone: string): AlertText {
  switch (type) {
    case 'price.missing':
      return priceMissingText(data as Parameters<typeof priceMissingText>[0]);
    case 'model.unpriced':
      return unpricedModelText(data as Parameters<typeof unpricedModelText>[0]);
    case 'run.unsettled':
      return unsettledText(data as Parameters<typeof unsettledText>[0]);
    case 'statement.drift':
      return driftText(data as Parameters<typeof driftText>[0]);
    case 'key.expiring':
      return keyExpiringText(data as Parameters<typeof keyExpiringText>[0], timezone);
    case 'approval.requested':
      return approvalText(data as Parameters<typeof approvalText>[0], timezone);
    case 'webhook.disabled':
      return webhookDisabledText(data as Parameters<typeof webhookDisabledText>[0]);
    case 'org.suspended':
      return suspendedText(data as Parameters<typeof suspendedText>[0]);
    case 'digest.weekly':
      return digestText(data as DigestData);
    case 'webhook.test':
      return testText;
    default:
      return otherText(type);
  }
}
