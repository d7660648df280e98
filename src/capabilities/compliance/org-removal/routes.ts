import { apiError, found } from '../../../contract/api-error.ts';
import { notifyLimitsChanged } from '../../../ledger/limits/change-notifications.ts';
import { changeOf } from '../../../platform/http/routes/outcomes.ts';
import { type Route, write } from '../../../platform/http/routes/route.ts';
import { revokeKeysOf } from '../../access/keys/index.ts';
import { holdSlug, lockOrg, orgChanged, touchDirectory, viewOrg } from '../../access/orgs/index.ts';
import { findPolicy } from '../retention/index.ts';
import { markRemoved } from './queries.ts';

export function orgRemovalRoutes(): Route[] {
  return [
    write({
      id: 'orgs.remove',
      method: 'DELETE',
      path: '/v1/admin/orgs/{org_id}',
      summary: 'Remove an organization and all its data',
      description:
        'The organization must be suspended and not under legal hold; otherwise this returns `conflict`. Its keys ' +
        'return 410 `gone` from then on, and its data is deleted in the background. This cannot be undone.',
      access: { kind: 'operator' },
      errors: ['conflict'],
      async handler({ params, now }, tx) {
        const org = found(await lockOrg(tx, params.org_id));
        if (org.status !== 'suspended') {
          throw apiError('conflict', 'Suspend the organization first.');
        }
        if ((await findPolicy(tx, org.id))?.legal_hold === true) {
          throw apiError('conflict', 'The organization is under legal hold. Release the hold first.');
        }
        await markRemoved(tx, org.id, now);
        await holdSlug(tx, org.slug, org.id, now);
        await revokeKeysOf(tx, org.id, now);
        await touchDirectory(tx, org.id);
        await orgChanged.notify(tx, org.id);
        await notifyLimitsChanged(tx, org.id);
        const change = changeOf('org', { org_id: null, id: org.id }, { before: viewOrg(org) });
        return { body: {}, changes: [change] };
      },
    }),
  ];
}
