import { type Static, Type } from 'typebox';
import { formatMessage } from '../../../contract/format-message.ts';
import { unsettledTreatments } from '../../../kernel/limits.ts';
import { listParameters, searchFilter } from '../../../platform/http/routes/list.ts';
import {
  choice,
  closed,
  id,
  name,
  nullable,
  partial,
  reason,
  timestamp,
  timezone,
} from '../../../platform/http/routes/schemas.ts';

const slug = Type.String({
  minLength: 1,
  maxLength: 63,
  pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
  [formatMessage]: 'Must be lowercase letters and digits, with single hyphens between them.',
  description:
    'Lowercase letters, digits and single hyphens; unique among all organizations. A slug that another ' +
    'organization gave up less than a year ago returns `conflict`.',
});
export const region = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
  [formatMessage]: 'Must be lowercase letters and digits, with single hyphens between them.',
  description: 'Name of a region: lowercase letters, digits and single hyphens.',
});
const status = choice(['active', 'suspended']);
const onUnsettled = choice(
  unsettledTreatments,
  'What happens to a hold that expires and was not settled: `release` gives its amount back, `post_held` posts it as the cost of ' +
    'a run marked `unsettled`, which a late settlement corrects.',
);

export const OrgView = closed({
  id,
  name: Type.String(),
  slug: Type.String(),
  timezone: Type.String(),
  home_region: nullable(Type.String()),
  residency_mode: choice(['forward', 'strict']),
  on_unsettled: onUnsettled,
  status,
  suspension_reason: nullable(Type.String()),
  created_at: timestamp,
  updated_at: timestamp,
});
export type OrgView = Static<typeof OrgView>;

export const CreateOrg = closed({
  name,
  slug: Type.Optional(slug),
  timezone: Type.Optional(timezone),
  home_region: Type.Optional(nullable(region)),
});
export type CreateOrg = Static<typeof CreateOrg>;

/** Fields that an operator can change. */
export const PatchOrg = partial({
  name,
  slug,
  timezone,
  home_region: nullable(region),
  on_unsettled: onUnsettled,
});
export type PatchOrg = Static<typeof PatchOrg>;

/** Fields that an org's owner can change. Only operators can set the home region. */
export const PatchOwnOrg = partial({ name, slug, timezone, on_unsettled: onUnsettled });

export const SuspendOrg = closed({ reason: Type.Optional(reason) });

export const orgSorts = { created_at: 'timestamptz', name: 'text' } as const;
export const OrgFilters = listParameters(orgSorts, {
  status: Type.Optional(status),
  slug: Type.Optional(Type.String({ minLength: 1, maxLength: 63 })),
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  ...searchFilter('the name, slug or id'),
});

export const allowListMax = 1_000;
export const IpAllowListView = closed({ cidrs: Type.Array(Type.String()) });
export const PutIpAllowList = closed({
  cidrs: Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
    maxItems: allowListMax,
    description: 'IPv4 or IPv6 addresses or CIDR ranges. Empty: any address is allowed.',
  }),
  force: Type.Optional(
    Type.Boolean({
      description: "Accepts a list that does not contain the caller's address.",
      default: false,
    }),
  ),
});
