/** Searches and retrievals with which Google grounds an answer. Responses show them, and their usage does not count them. */
import { type Fields, fieldsOf } from '../fields.ts';
import type { ServerTools } from '../server-tools.ts';

/** Models for which Google charges a grounded prompt once. For all others it charges each query. */
const chargesPrompts = /(?<![a-z0-9])gemini-[12](?![0-9])/i;

/** Collects the queries of the candidates. A stream may repeat them. */
export class GroundingTally {
  readonly #queries = new Set<string>();
  readonly #retrievals = new Set<string>();
  #hasSearch = false;
  #hasMaps = false;
  #hasRetrieval = false;

  add(candidate: Fields): void {
    const { groundingMetadata } = candidate;
    if (groundingMetadata == null) {
      return;
    }
    const metadata = fieldsOf(groundingMetadata);
    for (const queries of [metadata.webSearchQueries, metadata.imageSearchQueries]) {
      for (const query of Array.isArray(queries) ? queries : []) {
        // Google does not charge empty queries.
        if (typeof query === 'string' && query !== '') {
          this.#queries.add(query);
        }
      }
    }
    for (const query of Array.isArray(metadata.retrievalQueries) ? metadata.retrievalQueries : []) {
      this.#retrievals.add(String(query));
    }
    this.#hasSearch ||= metadata.searchEntryPoint != null;
    const chunks = Array.isArray(metadata.groundingChunks) ? metadata.groundingChunks : [];
    this.#hasRetrieval ||= chunks.some((chunk) => fieldsOf(chunk).retrievedContext != null);
    this.#hasMaps ||=
      metadata.googleMapsWidgetContextToken != null || chunks.some((chunk) => fieldsOf(chunk).maps != null);
  }

  /** Returns the charged calls. A model that is not known is charged by query. */
  callsOf(model: string | undefined): ServerTools {
    const most = Math.max(this.#queries.size, this.#hasSearch ? 1 : 0);
    const retrievals = Math.max(this.#retrievals.size, this.#hasRetrieval ? 1 : 0);
    const searches = model !== undefined && chargesPrompts.test(model) ? Math.min(most, 1) : most;
    return {
      ...(searches > 0 && { web_search: searches }),
      ...(this.#hasMaps && { maps_query: 1 }),
      ...(retrievals > 0 && { retrieval: retrievals }),
    };
  }
}
