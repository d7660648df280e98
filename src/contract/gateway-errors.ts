/**
 * Errors that only the gateway has, in addition to those of the API. Their bodies have the format of the provider, with the code
 * and the details of the error. Their codes are append-only like those of the API.
 */
import type { Retry } from './errors.ts';

interface GatewayErrorEntry {
  readonly statuses: readonly number[];
  /** Names of the fields in `details`. */
  readonly details: readonly string[];
  readonly retry: Retry;
  readonly meaning: string;
}

function entry(
  status: number,
  retry: Retry,
  meaning: string,
  details: readonly string[] = [],
): GatewayErrorEntry {
  return { statuses: [status], details, retry, meaning };
}

export const gatewayErrorCatalog = {
  invalid_json: entry(400, 'after_change', 'The body is not a JSON object.'),
  invalid_body: entry(400, 'after_change', 'The body has too many values or names, or is nested too deep.'),
  invalid_value: entry(400, 'after_change', 'A field of the body has a value that cannot be used.', [
    'field',
  ]),
  invalid_header: entry(400, 'after_change', 'A header that Purser reads has a value that cannot be used.', [
    'header',
  ]),
  model_without_price: entry(400, 'after_change', 'The model has no price, so its cost cannot be limited.', [
    'model',
  ]),
  tool_without_price: entry(
    400,
    'after_change',
    'A tool that the provider runs has no price, so its cost cannot be limited.',
    ['tool', 'unit', 'model'],
  ),
  unseen_input: entry(
    400,
    'after_change',
    'The organization refuses input whose tokens cannot be counted: earlier responses, files, audio, and members that Purser does not know.',
    ['field'],
  ),
  previous_response_not_found: entry(
    400,
    'after_change',
    'The call continues a response that does not exist or belongs to another caller.',
    ['field'],
  ),
  max_cost_exceeded: entry(402, 'after_change', 'The call may cost more than `x-svc-max-cost-usd` allows.'),
  hold_denied: entry(
    402,
    'after_change',
    'With `hold: paced`: a limit did not allow to hold more for the call, before its response began. What it may have cost is charged.',
  ),
  model_not_found: entry(404, 'after_change', 'No connection of the organization serves the model.', [
    'model',
  ]),
  idempotency_key_used: entry(
    409,
    'never',
    'The call with this `Idempotency-Key` was made. Its response is not stored.',
    ['run_id'],
  ),
  websocket_not_supported: entry(426, 'after_change', 'The gateway serves HTTP requests, not WebSockets.'),
  provider_unreachable: entry(502, 'with_backoff', 'The provider could not be reached.', ['attempts']),
  provider_key_rejected: entry(502, 'after_change', 'The provider rejected the key of the connection.'),
  response_interrupted: entry(502, 'with_backoff', 'The response of the provider broke off.'),
  response_not_assembled: entry(
    502,
    'with_backoff',
    'With `plain_calls: streamed`: the stream of the provider has a part that cannot be put together. The call is charged; the next attempt is sent as it is.',
  ),
  overloaded: entry(503, 'with_backoff', 'Too many calls are in progress.'),
  provider_timeout: entry(504, 'with_backoff', 'The provider did not answer in time.', ['attempts']),
  stream_interrupted: entry(
    200,
    'with_backoff',
    'A stream broke off, or Purser stopped. The code is in the last event.',
  ),
} satisfies Record<string, GatewayErrorEntry>;

export type GatewayErrorCode = keyof typeof gatewayErrorCatalog;
export const gatewayErrorCodes = Object.keys(gatewayErrorCatalog) as readonly GatewayErrorCode[];
