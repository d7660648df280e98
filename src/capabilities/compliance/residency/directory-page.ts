/**
 * Serves this region's directory to other regions. Request and response are signed; for all other callers the route
 * does not exist.
 */
import { apiError } from '../../../contract/api-error.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Page } from '../../../platform/http/routes/page.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import { type DirectoryRequest, readDirectory } from './directory.ts';
import { type PeerSecrets, sha256, sign, verify } from './signatures.ts';

const directoryPath = '/internal/directory';
export const directoryHeader = 'x-svc-region-directory';
export const requestPurpose = 'ask for the directory';
export const responsePurpose = 'tell the directory';

export interface DirectoryPageDependencies {
  readonly db: Database;
  readonly clock: Clock;
  readonly region: string;
  readonly secrets: PeerSecrets | undefined;
}

export function directoryPage({ db, clock, region, secrets }: DirectoryPageDependencies): Page {
  return {
    path: directoryPath,
    async handler({ url, headers, query }) {
      const signed = headers[directoryHeader];
      const nowMs = clock.now().getTime();
      const asked =
        typeof signed === 'string' && secrets !== undefined
          ? verify(secrets, requestPurpose, signed, [url], { region, nowMs })
          : undefined;
      if (asked === undefined || typeof signed !== 'string' || secrets === undefined) {
        throw apiError('not_found', 'Route not found.');
      }
      const body = JSON.stringify(await readDirectory(db, region, requestOf(query)));
      const statement = { from: region, to: asked.from, atMs: nowMs };
      return {
        status: 200,
        contentType: 'application/json; charset=utf-8',
        body,
        headers: {
          'cache-control': 'no-store',
          [directoryHeader]: sign(secrets, responsePurpose, statement, [signed, sha256(body)]),
        },
      };
    },
  };
}

function requestOf(query: URLSearchParams): DirectoryRequest {
  const since = query.get('since');
  const after = query.get('after');
  return since === null
    ? { kind: 'whole', after: after ?? '' }
    : { kind: 'changes', since, after: after ?? undefined };
}

/** URL of this page as the other region requests it. */
export function directoryUrl(request: DirectoryRequest): string {
  const query = new URLSearchParams();
  if (request.kind === 'changes') {
    query.set('since', request.since);
  }
  if (request.after !== undefined) {
    query.set('after', request.after);
  }
  return `${directoryPath}?${query}`;
}
