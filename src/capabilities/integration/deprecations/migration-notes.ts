/** How to get off what is deprecated, for people: by the anchor that `documentation` in the registry points to. */

export interface MigrationNote {
  readonly title: string;
  /** Back-ticks for code. */
  readonly steps: readonly string[];
}

export const migrationNotes: Readonly<Record<string, MigrationNote>> = {
  'org-level-webhook-secret': {
    title: 'The webhook secret of an organization',
    steps: [
      'Each subscription gets a secret of its own, so that one leaked secret is one receiver and not all of them.',
      'Create it with `POST /v1/orgs/{id}/webhooks/{sub_id}/signing/rotate`, which shows it once. From then on deliveries of ' +
        'that subscription are signed with it.',
      'Make the receiver verify the combined header: `X-Svc-Signature: t=<timestamp>,v1=<signature>`, an HMAC-SHA256 over the ' +
        'timestamp, a full stop and the raw body.',
      'Look at a secret with `GET /v1/orgs/{id}/webhooks/{sub_id}/signing`, which shows its fingerprint and age and never ' +
        'the secret. Stop using the secret of the organization.',
      'Once every subscription has its own secret, `POST /v1/admin/orgs/{org_id}/webhook-secret/rotate` changes nothing.',
    ],
  },
  'webhook-v1-delivery': {
    title: 'Webhook deliveries signed with the secret of the organization',
    steps: [
      'These are the deliveries whose header is `X-Svc-Signature: v1=<signature>`, and whose `X-Svc-Event-Version` is `1`. Each ' +
        'of them carries `Deprecation`, `Sunset` and `Link` too.',
      'Create a secret for the subscription with `POST /v1/orgs/{id}/webhooks/{sub_id}/signing/rotate` and verify ' +
        '`t=<timestamp>,v1=<signature>`. Its deliveries then are of version `2` and carry these headers no longer.',
      'The bodies stay the same.',
    ],
  },
  'linear-forecast': {
    title: 'The linear forecast',
    steps: [
      'It projects a return in proportion to the number of teams, without diminishing returns. It stays fully served, and no ' +
        'removal is planned.',
      'Ask `GET /v1/capacity/forecasts` instead: with `deployment` and `horizon_days` it projects cost, runs and tokens day ' +
        'by day, and says from how much history and within which band.',
    ],
  },
  'read-limit-setting': {
    title: 'SVC_READ_LIMIT_PER_MINUTE',
    steps: [
      'One number of reads a minute for every organization. It still holds for organizations without a number of their own.',
      'Give each organization its own: `PUT /v1/admin/orgs/{org_id}/rate-limits` with `read_rpm`, or with policies for finer ' +
        'limits. Then unset the setting.',
    ],
  },
};

/** Where those deprecations are explained that are no routes, by their name in the release ledger. */
export const anchorsOfOthers: Readonly<Record<string, string>> = {
  'X-Svc-Signature: v1=...': 'webhook-v1-delivery',
  SVC_READ_LIMIT_PER_MINUTE: 'read-limit-setting',
};
