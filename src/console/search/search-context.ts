/** Calls of the API for a search: kinds that the visitor may not read are skipped, and reported on the page. */
import { type Api, ApiFailure } from '../api.ts';
import type { OperationId, Responses } from '../responses.ts';
import type { VisitedOrg } from '../screen.ts';

export interface SearchContext {
  readonly org: VisitedOrg;
  /** Start of the period that values of runs are searched in. */
  readonly usageFrom: string;
  /** Returns undefined if there is no such resource, or the visitor may not read it. */
  find<Id extends OperationId>(path: string): Promise<Responses[Id] | undefined>;
  /** The scopes or roles that were missing, as the API names them. */
  readonly missing: ReadonlySet<string>;
}

/** A match: a link with its name, and a note such as its kind. */
export interface SearchHit {
  readonly href: string;
  readonly name: string;
  readonly note?: string;
}

export interface MatchGroup {
  readonly title: string;
  readonly matches: readonly SearchHit[];
}

/** Matches shown per kind. */
export const matchesPerKind = 8;

const usageDays = 90;
const dayMs = 86_400_000;

export function searchContext(api: Api, org: VisitedOrg, now: Date): SearchContext {
  const missing = new Set<string>();
  return {
    org,
    usageFrom: new Date(now.getTime() - usageDays * dayMs).toISOString(),
    missing,
    async find<Id extends OperationId>(path: string) {
      // Checked first: a denied call would be recorded in the audit log.
      const denied = api.denied('GET', path);
      const answer = denied ?? (await api.tryGet<Id>(path));
      if (!(answer instanceof ApiFailure)) {
        return answer;
      }
      if (answer.code === 'missing_scope') {
        missing.add(String(answer.details.required));
      } else if (answer.status >= 500 || answer.code === 'rate_limited') {
        throw answer;
      }
      // Other errors mean “no match”: the id is unknown or malformed, or the role may not see the resource.
      return undefined;
    },
  };
}
