/**
 * Serves this region's directory to other regions. Request and response are signed; for all other callers the route does not
 * exist.
 */
import { apiError } from '../../../contract/api-error.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Page } from '../../../platform/http/routes/page.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import { type DirectoryQuestion, tellDirectory } from './directory.ts';
import { type PeerSecrets, sha256, sign, verify } from './signatures.ts';

const directoryPath = '/internal/directory';
export const directoryHeader = 'x-svc-region-directory';
export const askingPurpose = 'ask for the directory';
export const tellingPurpose = 'tell the directory';

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
          ? verify(secrets, askingPurpose, signed, [url], { region, nowMs })
          : undefined;
      if (asked === undefined || typeof signed !== 'string' || secrets === undefined) {
        throw apiError('not_found', 'Route not found.');
      }
      const body = JSON.stringify(await tellDirectory(db, region, questionOf(query)));
      const statement = { from: region, to: asked.from, atMs: nowMs };
      return {
        status: 200,
        contentType: 'application/json; charset=utf-8',
        body,
        headers: {
          'cache-control': 'no-store',
          [directoryHeader]: sign(secrets, tellingPurpose, statement, [signed, sha256(body)]),
        },
      };
    },
  };
}

function questionOf(query: URLSearchParams): DirectoryQuestion {
  const since = query.get('since');
  const after = query.get('after');
  return since === null
    ? { kind: 'whole', after: after ?? '' }
    : { kind: 'changes', since, after: after ?? undefined };
}

/** URL of this page as the other region requests it. */
export function directoryUrl(question: DirectoryQuestion): string {
  const query = new URLSearchParams();
  if (question.kind === 'changes') {
    query.set('since', question.since);
  }
  if (question.after !== undefined) {
    query.set('after', question.after);
  }
  return `${directoryPath}?${query}`;
}
