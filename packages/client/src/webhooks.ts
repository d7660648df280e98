/**
 * Verifies webhook deliveries. Pass the bytes of the body as they were received, before anything parses them: the
 * signature covers these bytes.
 *
 *   const event = verifyWebhook({ body, header: request.headers['x-svc-signature'], secret });
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

export interface WebhookEvent {
  /** Id of the event. It is the same in every attempt to deliver the event: store it to detect duplicates. */
  readonly id: string;
  readonly type: string;
  readonly created_at: string;
  readonly org_id: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface WebhookDelivery {
  /** The raw body. */
  readonly body: string | Uint8Array;
  /** The value of `X-Svc-Signature`. */
  readonly header: string | undefined;
  /**
   * The secret of the subscription. Pass several while it is being rotated: any of them may have signed the delivery.
   */
  readonly secret: string | readonly string[];
  /**
   * The org's secret, for deliveries without a timestamp (`v1=…`), which are deprecated. Omit it once the subscription
   * has its own secret: such deliveries are then rejected.
   */
  readonly orgSecret?: string;
  /** Maximum difference between the time of the signature and now. Default: 300. */
  readonly toleranceSeconds?: number;
  /** Default: now. */
  readonly nowSeconds?: number;
}

export type WebhookFault = 'no_signature' | 'malformed_signature' | 'wrong_signature' | 'too_old_or_new';

export class WebhookVerificationError extends Error {
  readonly fault: WebhookFault;

  constructor(fault: WebhookFault, message: string) {
    super(message);
    this.name = 'WebhookVerificationError';
    this.fault = fault;
  }
}

const defaultToleranceSeconds = 300;

/** Returns the event, or throws a `WebhookVerificationError`. */
export function verifyWebhook(delivery: WebhookDelivery): WebhookEvent {
  verifyWebhookSignature(delivery);
  const { body } = delivery;
  return JSON.parse(typeof body === 'string' ? body : Buffer.from(body).toString('utf8')) as WebhookEvent;
}

export function verifyWebhookSignature(delivery: WebhookDelivery): void {
  const { body, header, secret, orgSecret } = delivery;
  if (header === undefined || header === '') {
    throw new WebhookVerificationError('no_signature', 'There is no X-Svc-Signature header.');
  }
  const { time, signatures } = parseHeader(header);
  if (time === undefined) {
    const secrets = orgSecret === undefined ? [] : [orgSecret];
    checkSignatures(signatures, secrets, [body]);
    return;
  }
  checkSignatures(signatures, typeof secret === 'string' ? [secret] : secret, [`${time}.`, body]);
  const { toleranceSeconds = defaultToleranceSeconds, nowSeconds = Math.floor(Date.now() / 1_000) } =
    delivery;
  if (Math.abs(nowSeconds - Number(time)) > toleranceSeconds) {
    throw new WebhookVerificationError(
      'too_old_or_new',
      'The delivery was signed too long ago, or the clocks differ.',
    );
  }
}

interface ParsedHeader {
  /** Kept as text, because exactly these characters were signed. */
  readonly time: string | undefined;
  readonly signatures: readonly string[];
}

/** Parses `t=<seconds>,v1=<hex>[,v1=<hex>]`, or `v1=<hex>` alone. Ignores other names, which later versions may add. */
function parseHeader(header: string): ParsedHeader {
  const parts = header.split(',').map((part) => part.trim().split('=', 2));
  const headerValues = (name: string) => parts.flatMap(([key, value]) => (key === name ? [value ?? ''] : []));
  const [time, ...moreTimes] = headerValues('t');
  const signatures = headerValues('v1');
  const isTime = time === undefined || /^\d{1,12}$/.test(time);
  if (!isTime || moreTimes.length > 0 || signatures.length === 0) {
    throw new WebhookVerificationError('malformed_signature', 'The X-Svc-Signature header is malformed.');
  }
  return { time, signatures };
}

/** Compares every signature with every secret in constant time, so that the time does not reveal a partial match. */
function checkSignatures(
  signatures: readonly string[],
  secrets: readonly string[],
  signed: readonly (string | Uint8Array)[],
): void {
  const expected = secrets.map((secret) => {
    const hmac = createHmac('sha256', secret);
    for (const part of signed) {
      hmac.update(part);
    }
    return hmac.digest();
  });
  const isRight = signatures.some((signature) => {
    const given = /^[0-9a-f]{64}$/.test(signature) ? Buffer.from(signature, 'hex') : undefined;
    return given !== undefined && expected.some((digest) => timingSafeEqual(digest, given));
  });
  if (!isRight) {
    throw new WebhookVerificationError('wrong_signature', 'No signature was made with the secret.');
  }
}
