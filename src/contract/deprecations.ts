/**
 * The registry of deprecated routes. It is the only source for response headers, the list of deprecations, OpenAPI, the metric and
 * the documentation. It is read for each response, so a route that is deprecated while the service runs is announced everywhere
 * from the next response on.
 */

export interface Deprecation {
  /** Path template without a method. It is also the label of the metric. */
  readonly route: string;
  /** The date of the announcement, `YYYY-MM-DD`. */
  readonly since: string;
  /** End of the notice period as an IMF-fixdate. Once published, it must not be moved earlier. */
  readonly sunset: string;
  /** Path template of the successor, if there is one. */
  readonly replacement?: string;
  /** Page that explains the change, as a path below the URL of the documentation. */
  readonly documentation: string;
}

export const announcedDeprecations: readonly Deprecation[] = [
  {
    route: '/v1/admin/orgs/{org_id}/webhook-secret',
    since: '2026-07-22',
    sunset: 'Fri, 31 Dec 2027 23:59:59 GMT',
    replacement: '/v1/orgs/{id}/webhooks/{sub_id}/signing',
    documentation: '/deprecations#org-level-webhook-secret',
  },
  {
    route: '/v1/admin/orgs/{org_id}/webhook-secret/rotate',
    since: '2026-07-22',
    sunset: 'Fri, 31 Dec 2027 23:59:59 GMT',
    replacement: '/v1/orgs/{id}/webhooks/{sub_id}/signing/rotate',
    documentation: '/deprecations#org-level-webhook-secret',
  },
  {
    route: '/v1/forecast',
    since: '2026-07-22',
    sunset: 'Wed, 31 Dec 2036 23:59:59 GMT',
    replacement: '/v1/capacity/forecasts',
    documentation: '/deprecations#linear-forecast',
  },
];

/** The deprecations in force. There is one registry per process, which all components share. */
export class DeprecationRegistry {
  readonly #entries = new Map<string, Deprecation>();

  constructor(entries: readonly Deprecation[] = announcedDeprecations) {
    for (const entry of entries) {
      this.flag(entry);
    }
  }

  flag(entry: Deprecation): void {
    this.#entries.set(entry.route, entry);
  }

  unflag(route: string): void {
    this.#entries.delete(route);
  }

  find(route: string): Deprecation | undefined {
    return this.#entries.get(route);
  }

  list(): Deprecation[] {
    return [...this.#entries.values()];
  }
}
