/** The outcome of sending a message once. */
import type { MailError } from '../../../platform/mail/mailer.ts';
import type { AttemptError } from './schema.ts';

export interface Answer {
  /** Null if there was no response. */
  readonly status: number | null;
  readonly error: AttemptError | MailError | null;
  readonly latencyMs: number;
  /** First bytes of the body. */
  readonly response: string | null;
  readonly retryAfter: string | undefined;
  /** A retry is pointless: the mail server rejects the recipient or the message. */
  readonly isRejected?: boolean;
}
