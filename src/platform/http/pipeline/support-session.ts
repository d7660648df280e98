/** Records the requests of support sessions before they are served. */
import { ApiError } from '../../../contract/api-error.ts';
import { type Caller, type Credential, type SupportIdentity, WrongRegion } from '../routes/access.ts';
import type { Route } from '../routes/route.ts';

export interface ImpersonatedRequest {
  readonly support: SupportIdentity;
  readonly orgId: string;
  /** The route or the raw endpoint; undefined if none matches the path. */
  readonly route: Pick<Route, 'id' | 'path'> | undefined;
  readonly method: string;
  /** The requested path, without the query string. */
  readonly path: string;
  /** Undefined if the request is admitted. */
  readonly error: ApiError | undefined;
  readonly address: string;
  readonly traceId: string;
  readonly now: Date;
}

/** Throws if the record cannot be written: then the request must not be served. */
export type RecordImpersonated = (request: ImpersonatedRequest) => Promise<void>;

/** Runs the access checks and records the request, admitted or not, before it returns or throws. */
export async function onRecord<Admitted extends Caller | undefined>(
  record: RecordImpersonated,
  { support, org }: Credential,
  request: Pick<ImpersonatedRequest, 'route' | 'method' | 'address' | 'traceId' | 'now'> & {
    readonly url: string;
  },
  examine: () => Admitted | Promise<Admitted>,
): Promise<Admitted> {
  let result: { readonly admitted: Admitted } | { readonly error: ApiError };
  try {
    result = { admitted: await examine() };
  } catch (error) {
    if (!(error instanceof ApiError) || error instanceof WrongRegion) {
      // Not recorded here: an unexpected error, or a request that its home region records.
      throw error;
    }
    result = { error };
  }
  if (support !== undefined && org !== null) {
    const { url, ...rest } = request;
    const [path = ''] = url.split('?');
    const error = 'error' in result ? result.error : undefined;
    await record({ ...rest, support, orgId: org.id, path, error });
  }
  if ('error' in result) {
    throw result.error;
  }
  return result.admitted;
}
