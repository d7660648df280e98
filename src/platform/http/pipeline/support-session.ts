/** Requests of support sessions, as the pipeline hands them to whoever keeps the record. */
import { ApiError } from '../../../contract/api-error.ts';
import { type Caller, type Credential, type SupportIdentity, WrongRegion } from '../routes/access.ts';
import type { Route } from '../routes/route.ts';

export interface ImpersonatedRequest {
  readonly support: SupportIdentity;
  readonly orgId: string;
  /** Undefined where nothing matches the path. */
  readonly route: Route | undefined;
  readonly method: string;
  /** As it was asked for, without its query. */
  readonly path: string;
  /** Undefined: it is let in. */
  readonly error: ApiError | undefined;
  readonly address: string;
  readonly traceId: string;
  readonly now: Date;
}

/** Throws where it cannot be written: then the request must not be served. */
export type RecordImpersonated = (request: ImpersonatedRequest) => Promise<void>;

/** A support session is served only what is on record, and what it is refused is on record too. */
export async function onRecord(
  record: RecordImpersonated,
  { support, org }: Credential,
  request: Pick<ImpersonatedRequest, 'route' | 'method' | 'address' | 'traceId' | 'now'> & {
    readonly url: string;
  },
  examine: () => Caller | undefined,
): Promise<Caller | undefined> {
  let caller: Caller | undefined;
  let refusal: ApiError | undefined;
  try {
    caller = examine();
  } catch (error) {
    if (!(error instanceof ApiError) || error instanceof WrongRegion) {
      // The home region is the one to record it.
      throw error;
    }
    refusal = error;
  }
  if (support !== undefined && org !== null) {
    const { url, ...rest } = request;
    const [path = ''] = url.split('?');
    await record({ ...rest, support, orgId: org.id, path, error: refusal });
  }
  if (refusal !== undefined) {
    throw refusal;
  }
  return caller;
}
