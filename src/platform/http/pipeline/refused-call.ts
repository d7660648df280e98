/** A failed request of a known credential, for the log of attempts. */
import type { ApiError } from '../../../contract/api-error.ts';
import type { Credential } from '../routes/access.ts';
import type { Route } from '../routes/route.ts';

export interface RefusedCall {
  readonly error: ApiError;
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
  readonly credential: Credential;
  readonly address: string;
  readonly traceId: string;
  readonly at: Date;
}

export type OnRefusedCall = (call: RefusedCall) => void;
