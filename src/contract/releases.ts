/**
 * The release ledger: every version of the platform, oldest first, with its deprecations, its removals and the actions
 * that it requires from operators. The entry of a released version never changes. `npm run check` compares the ledger
 * with the frozen contract, the registry of deprecated routes, the settings, the changelog and the published baseline.
 */

/** A deprecation of something that is served or sent over HTTP. It has a sunset date. */
export interface DatedDeprecation {
  /** `route`: `surface` is a method and a path template. `delivery`: it is a form of webhook delivery, identified by its header. */
  readonly kind: 'route' | 'delivery';
  readonly surface: string;
  /** Date of the announcement, `YYYY-MM-DD`. */
  readonly announced: string;
  /** Date as an IMF-fixdate. It may be moved later, never earlier. */
  readonly sunset: string;
  /** The surface to use instead, if there is one. */
  readonly replacement?: string;
}

/** The deprecation of a setting. A setting is removed after a number of releases, not on a date. */
export interface SettingDeprecation {
  readonly kind: 'setting';
  readonly surface: string;
  readonly announced: string;
}

export type LedgerDeprecation = DatedDeprecation | SettingDeprecation;

export interface RemovedSurface {
  readonly kind: LedgerDeprecation['kind'];
  readonly surface: string;
}

/** An operation under `/v2` that replaces an operation under `/v1`. Both are served side by side. */
export interface Succession {
  readonly predecessor: string;
  readonly successor: string;
  /** The first day on which both are served, `YYYY-MM-DD`. */
  readonly overlapFrom: string;
}

export interface Release {
  readonly version: string;
  /** Release date, `YYYY-MM-DD`; `unreleased` for the version in development. */
  readonly date: string;
  readonly deprecated: readonly LedgerDeprecation[];
  readonly removed: readonly RemovedSurface[];
  readonly successions: readonly Succession[];
  /** Actions as full sentences. Each of them is also in the changelog. */
  readonly operatorActions: readonly string[];
}

const orgSecretSunset = 'Fri, 31 Dec 2027 23:59:59 GMT';

export const releases: readonly Release[] = [
  {
    version: '0.1.0',
    date: '2026-11-16',
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
  {
    version: '0.2.0',
    date: '2026-11-19',
    deprecated: [],
    removed: [],
    successions: [],
    operatorActions: [],
  },
  {
    version: '0.3.0',
    date: 'unreleased',
    deprecated: [],
    removed: [],
    successions: [],
    operatorActions: [],
  },
];
