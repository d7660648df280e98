/** Records the requests of support sessions before they are served. */
import { ApiError } from '../../../contract/api-error.ts';
import { type Caller, type Credential, type SupportIdentity, WrongRegion } from '../routes/access.ts';
import type { Route } from '../routes/route.ts';

export interface ImpersonatedRequest {
  readonly support: SupportIdentity;
  readonly orgId: string;
  /** The matched route or raw endpoint; undefined if none matches. */
  readonly route: Pick<Route, 'id' | 'path'> | undefined;
  readonly method: string;
  /** The requested path, without the query string. */
  readonly path: string;
  /** The error of the access checks; undefined if the request is admitted. */
  readonly error: ApiError | undefined;
  readonly address: string;
  readonly traceId: string;
  readonly now: Date;
}

/** Records a request. If it throws, the request must not be served. */
export type RecordImpersonated = (request: ImpersonatedRequest) => Promise<void>;

/** Runs the access checks, and records the request before it returns the result or throws. Denied requests are recorded too. */
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
      // Not recorded here: the error is unexpected, or the home region records the request.
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
