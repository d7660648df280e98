/** A request whose call was admitted. */
import type { Caller } from '../platform/http/routes/access.ts';
import type { RawRequest } from '../platform/http/routes/raw-endpoint.ts';
import type { AdmittedCall } from './admit-call.ts';
import type { CallAttribution } from './attribution-headers.ts';
import type { CallMemory } from './body/call-memory.ts';
import type { MeteredOperation } from './paths/operation.ts';
import type { CallPlan } from './plan-call.ts';

export interface AdmittedRequest {
  readonly request: RawRequest;
  readonly operation: MeteredOperation;
  readonly caller: Caller;
  readonly plan: CallPlan;
  readonly admitted: AdmittedCall;
  readonly attribution: CallAttribution;
  readonly startedMs: number;
  readonly memory: CallMemory;
  /** Frees the place that the call occupies. */
  release(): void;
}
