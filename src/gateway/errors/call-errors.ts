/** Errors of calls whose provider did not give the response that the client expects. */
import type { Connection } from '../../capabilities/integration/connections/index.ts';
import { shortened } from '../../platform/shortened-text.ts';
import { GatewayError } from './gateway-error.ts';

export const stopping = 'The gateway is stopping. Please try again.';

export function stoppingError(): GatewayError {
  return new GatewayError(503, 'service_unavailable', stopping);
}

export function unreachableError({
  isTimeout,
  attempts,
}: {
  readonly isTimeout: boolean;
  readonly attempts: number;
}): GatewayError {
  return isTimeout
    ? new GatewayError(504, 'provider_timeout', 'The provider did not answer in time.', { attempts })
    : new GatewayError(502, 'provider_unreachable', 'The provider could not be reached.', { attempts });
}

/** The error of a call whose hold could not follow it before its response began. */
export function holdDenied(): GatewayError {
  return new GatewayError(
    402,
    'hold_denied',
    'The call was ended, because no limit allows to hold more for it.',
  );
}

export function responseInterrupted(): GatewayError {
  return new GatewayError(502, 'response_interrupted', 'The response of the provider broke off.');
}

/** The provider chooses the name of a part. */
const partCharsMax = 100;

/** `part`: its name in the stream. */
export function responseNotAssembled(part: string): GatewayError {
  return new GatewayError(
    502,
    'response_not_assembled',
    `The stream of the provider has a part that Purser cannot put together: ${shortened(part, partCharsMax)}. ` +
      'The next attempt is not streamed.',
  );
}

export function keyRejected({ name }: Connection): GatewayError {
  return new GatewayError(
    502,
    'provider_key_rejected',
    `The provider rejected the key of the connection ${name}.`,
  );
}
