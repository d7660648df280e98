/**
 * The release ledger: every version of the platform, what it deprecated and removed, and what it asks operators to
 * do. Oldest first; what was released is history and stays as it is. `npm run check` holds it against the frozen
 * contract, the registry of deprecated routes, the settings, the changelog and what was published before.
 */

/** A deprecation of something that is reached over HTTP, or sent over it, and therefore has a date. */
export interface DatedDeprecation {
  /** `route`: a method and a path's template. `delivery`: a shape of webhook delivery, by the header that shows it. */
  readonly kind: 'route' | 'delivery';
  readonly surface: string;
  /** `YYYY-MM-DD`. */
  readonly announced: string;
  /** An IMF-fixdate. It may move later, never earlier. */
  readonly sunset: string;
  /** What to use instead, named like the surface, where there is such a thing. */
  readonly replacement?: string;
}

/** Settings are removed by count of releases, not by date. */
export interface SettingDeprecation {
  readonly kind: 'setting';
  readonly surface: string;
  readonly announced: string;
}

export type LedgerDeprecation = DatedDeprecation | SettingDeprecation;

export interface Removal {
  readonly kind: LedgerDeprecation['kind'];
  readonly surface: string;
}

/** An operation under `/v2` that takes the place of one under `/v1`, which is served beside it. */
export interface Succession {
  readonly predecessor: string;
  readonly successor: string;
  /** The first day on which both are served, `YYYY-MM-DD`. */
  readonly overlapFrom: string;
}

export interface Release {
  readonly version: string;
  /** `YYYY-MM-DD`, or `unreleased` for the one that is being made. */
  readonly date: string;
  readonly deprecated: readonly LedgerDeprecation[];
  readonly removed: readonly Removal[];
  readonly successions: readonly Succession[];
  /** Whole sentences; the changelog has each of them. */
  readonly operatorActions: readonly string[];
}

const orgSecretSunset = 'Fri, 31 Dec 2027 23:59:59 GMT';

export const releases: readonly Release[] = [
  {
    version: '0.1.0',
    date: 'unreleased',
    deprecated: [
      {
        kind: 'route',
        surface: 'GET /v1/admin/orgs/{org_id}/webhook-secret',
        announced: '2026-07-22',
        sunset: orgSecretSunset,
        replacement: 'GET /v1/orgs/{id}/webhooks/{sub_id}/signing',
      },
      {
        kind: 'route',
        surface: 'POST /v1/admin/orgs/{org_id}/webhook-secret/rotate',
        announced: '2026-07-22',
        sunset: orgSecretSunset,
        replacement: 'POST /v1/orgs/{id}/webhooks/{sub_id}/signing/rotate',
      },
      {
        kind: 'delivery',
        surface: 'X-Svc-Signature: v1=...',
        announced: '2026-07-22',
        sunset: orgSecretSunset,
      },
      { kind: 'setting', surface: 'SVC_READ_LIMIT_PER_MINUTE', announced: '2026-07-22' },
      {
        kind: 'route',
        surface: 'GET /v1/forecast',
        announced: '2026-07-22',
        sunset: 'Wed, 31 Dec 2036 23:59:59 GMT',
        replacement: 'GET /v1/capacity/forecasts',
      },
    ],
    removed: [],
    successions: [],
    operatorActions: [
      'Give each org a `read_rpm` or policies with `PUT /v1/admin/orgs/{org_id}/rate-limits`, then unset `SVC_READ_LIMIT_PER_MINUTE`.',
    ],
  },
];
