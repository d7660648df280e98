/** Identifies the caller of the gateway. */
import {
  type IdentifyRawDependencies,
  identifyRawCaller,
} from '../platform/http/pipeline/identify-raw-caller.ts';
import type { Caller } from '../platform/http/routes/access.ts';
import type { RawRequest } from '../platform/http/routes/raw-endpoint.ts';

export type IdentifyDependencies = IdentifyRawDependencies;

const access = { kind: 'org', scope: 'gateway:call', role: 'member' } as const;

export function identifyCaller(deps: IdentifyDependencies, request: RawRequest): Promise<Caller> {
  return identifyRawCaller(
    deps,
    request,
    access,
    'The key is not valid. Use a Purser key, not that of the provider.',
  );
}
