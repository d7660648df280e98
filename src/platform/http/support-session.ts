/** Requests of support sessions, as the pipeline hands them to whoever keeps the record. */
import type { Refusal } from '../../contract/refusal.ts';
import type { SupportIdentity } from './access.ts';
import type { Route } from './route.ts';

export interface ImpersonatedRequest {
  readonly support: SupportIdentity;
  readonly orgId: string;
  readonly route: Route;
  /** As it was asked for, without its query. */
  readonly path: string;
  /** Undefined: it is let in. */
  readonly refusal: Refusal | undefined;
  readonly address: string;
  readonly traceId: string;
  readonly now: Date;
}

/** Throws where it cannot be written: then the request must not be served. */
export type RecordImpersonated = (request: ImpersonatedRequest) => Promise<void>;
