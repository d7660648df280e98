/**
 * The routes on a deprecation path: the one place from which headers, the listing, OpenAPI, the metric and the
 * documentation take what they say. It is read at the time of each response, so a route that is flagged while the
 * service runs shows everywhere on the next one.
 */

export interface Deprecation {
  /** The path's template, without a method: also the metric's label. */
  readonly route: string;
  /** When it was announced, `YYYY-MM-DD`. */
  readonly since: string;
  /** An IMF-fixdate after which the route may be removed. Never moved earlier once published. */
  readonly sunset: string;
  /** The successor's template, where there is one. */
  readonly replacement?: string;
  /** Where the change is explained: a path under the documentation's address. */
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

/** What is flagged now. One per process, handed to whoever answers. */
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
