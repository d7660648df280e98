/** Migration steps for deprecated items, by the anchor that `documentation` in the registry points to. */

export interface MigrationNote {
  readonly title: string;
  /** Back-ticks mark code. */
  readonly steps: readonly string[];
}

export const migrationNotes: Readonly<Record<string, MigrationNote>> = {
  'org-level-webhook-secret': {
    title: 'The webhook secret of an organization',
    steps: [
      'Each subscription gets its own secret, so that a leaked secret affects one receiver and not all of them.',
      'Create it with `POST /v1/orgs/{id}/webhooks/{sub_id}/signing/rotate`, which shows it once. From then on deliveries of ' +
        'that subscription are signed with it.',
      'Make the receiver verify the combined header: `X-Svc-Signature: t=<timestamp>,v1=<signature>`, an HMAC-SHA256 over the ' +
        'timestamp, a full stop and the raw body.',
      'Use `GET /v1/orgs/{id}/webhooks/{sub_id}/signing` to see the fingerprint and age of a secret; the secret ' +
        'itself is never shown. Stop using the secret of the organization.',
      'Once every subscription has its own secret, `POST /v1/admin/orgs/{org_id}/webhook-secret/rotate` has no ' +
        'effect.',
    ],
  },
  'webhook-v1-delivery': {
    title: 'Webhook deliveries signed with the secret of the organization',
    steps: [
      'These are the deliveries with the header `X-Svc-Signature: v1=<signature>` and `X-Svc-Event-Version: 1`. ' +
        'Each of them also has the headers `Deprecation`, `Sunset` and `Link`.',
      'Create a secret for the subscription with `POST /v1/orgs/{id}/webhooks/{sub_id}/signing/rotate` and ' +
        'verify `t=<timestamp>,v1=<signature>`. Its deliveries then have version `2` and no longer have these ' +
        'headers.',
      'The bodies stay the same.',
    ],
  },
  'linear-forecast': {
    title: 'The linear forecast',
    steps: [
      'It projects a return in proportion to the number of teams, without diminishing returns. It is still fully ' +
        'supported, and no removal is planned.',
      'Use `GET /v1/capacity/forecasts` instead: with `deployment` and `horizon_days` it projects cost, runs and ' +
        'tokens day by day, with the history it is based on and a confidence band.',
    ],
  },
  'read-limit-setting': {
    title: 'SVC_READ_LIMIT_PER_MINUTE',
    steps: [
      'A single read limit per minute for every organization. It still applies to organizations without their ' +
        'own limit.',
      'Set a limit for each organization: `PUT /v1/admin/orgs/{org_id}/rate-limits` with `read_rpm`, or with ' +
        'policies for finer limits. Then unset the setting.',
    ],
  },
};

/** Anchors of deprecations that are not routes, by their name in the list of releases. */
export const anchorsOfOthers: Readonly<Record<string, string>> = {
  'X-Svc-Signature: v1=...': 'webhook-v1-delivery',
  SVC_READ_LIMIT_PER_MINUTE: 'read-limit-setting',
};
