/**
 * Bounds on messages that callers send by hand: test messages and redeliveries. A recipient need not have agreed to anything, so
 * without them an organization could fill the mailbox of a stranger, in the name of the operator of the mail server.
 */
import { type ApiError, apiErrorWithDetails } from '../../../contract/api-error.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { countTestMails, type DeliveryRow } from '../webhooks/index.ts';

/** Test messages to one recipient, of all subscriptions of the organization. */
const testsPerHourMax = 5;
/** Attempts to deliver one message, after which it cannot be redelivered for a while. */
const attemptsPerHourMax = 10;
const hourMs = 3_600_000;

/** Throws if one of the recipients has got enough test messages. */
export async function checkTests(
  tx: Transaction,
  orgId: string,
  recipients: readonly string[],
  now: Date,
): Promise<void> {
  const since = new Date(now.getTime() - hourMs);
  const [most] = await countTestMails(tx, orgId, recipients, since);
  if (most !== undefined && most.count >= testsPerHourMax) {
    throw tooMany(
      most.oldest.getTime() + hourMs - now.getTime(),
      `${most.recipient} has got ${testsPerHourMax} test messages within an hour. Try again later.`,
    );
  }
}

/** Throws if the message was sent often enough. */
export function checkRedelivery({ attempts }: Pick<DeliveryRow, 'attempts'>, now: Date): void {
  const times = attempts.map(({ at }) => Date.parse(at)).filter((atMs) => atMs > now.getTime() - hourMs);
  if (times.length >= attemptsPerHourMax) {
    throw tooMany(
      Math.min(...times) + hourMs - now.getTime(),
      `There were ${attemptsPerHourMax} attempts to deliver this message within an hour. Try again later.`,
    );
  }
}

function tooMany(waitMs: number, message: string): ApiError {
  return apiErrorWithDetails(
    'rate_limited',
    { retry_after_seconds: Math.max(1, Math.ceil(waitMs / 1_000)) },
    message,
  );
}
