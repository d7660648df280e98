/** Identifies the caller of the gateway. */
import { keyHeaders } from '../capabilities/integration/connections/index.ts';
import {
  type IdentifyRawDependencies,
  identifyRawCaller,
  type RawAccess,
} from '../platform/http/pipeline/identify-raw-caller.ts';
import type { Caller } from '../platform/http/routes/access.ts';
import type { RawRequest } from '../platform/http/routes/raw-endpoint.ts';
import { keyIn, signingKeyIn } from './paths/index.ts';

const access: RawAccess = {
  access: { kind: 'org', scope: 'gateway:call', role: 'member' },
  operation: { id: 'gateway.call', path: 'gateway' },
  keyHeaders: [...keyHeaders].filter((name) => name !== 'authorization'),
  invalidKey: 'The key is not valid. Use a Purser key, not that of the provider.',
};

export function identifyCaller(deps: IdentifyRawDependencies, request: RawRequest): Promise<Caller> {
  const { url, headers } = request;
  const key = keyIn(url) ?? signingKeyIn(url, headers.authorization);
  return identifyRawCaller(deps, request, access, key);
}
