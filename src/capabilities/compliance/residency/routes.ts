import { found } from '../../../contract/api-error.ts';
import type { Database } from '../../../platform/db/database.ts';
import { settingChanged } from '../../../platform/http/routes/outcomes.ts';
import { type Route, read, write } from '../../../platform/http/routes/route.ts';
import { changeOrg, findOrg } from '../../access/orgs/index.ts';
import { viewResidency } from './residency.ts';
import { PutResidency, ResidencyView } from './schema.ts';

const operator = { kind: 'operator' } as const;

export function residencyRoutes({ db }: { readonly db: Database }): Route[] {
  return [
    read({
      id: 'residency.read',
      path: '/v1/admin/orgs/{org_id}/residency',
      summary: 'Get the home region of an organization',
      access: operator,
      response: ResidencyView,
      handler: async ({ params }) => viewResidency(found(await findOrg(db, params.org_id))),
    }),
    write({
      id: 'residency.put',
      method: 'PUT',
      path: '/v1/admin/orgs/{org_id}/residency',
      summary: 'Set the home region of an organization',
      description:
        'Call the home region itself; it notifies the others. Other regions forward requests of the organization ' +
        '(`forward`) or return 403 `residency_violation` (`strict`). A `home_region` of null means that every ' +
        'region serves the organization. No data is moved.',
      access: operator,
      body: PutResidency,
      response: ResidencyView,
      async handler({ params, body, now }, tx) {
        const { before, after } = await changeOrg(tx, params.org_id, now, () => ({
          home_region: body.home_region,
          residency_mode: body.mode ?? 'forward',
        }));
        const views = { before: viewResidency(before), after: viewResidency(after) };
        return settingChanged('residency', after.id, views, 'org.residency_updated');
      },
    }),
  ];
}
