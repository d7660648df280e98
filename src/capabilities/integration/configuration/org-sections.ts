/** The organization itself, and how long its data is kept. A field of `org` that is left out stays as it is. */

import { findOrg } from '../../access/orgs/index.ts';
import { findPolicy, retentionDefaults, viewRetentionPolicy } from '../../compliance/retention/index.ts';
import { pick, type SingleSection } from './section.ts';

const orgFields = ['slug', 'name', 'timezone', 'home_region', 'on_unsettled'];

/** The section only changes the organization. If none has the slug of the file, `apply.ts` creates it for an operator. */
export const org: SingleSection = {
  shape: 'single',
  name: 'org',
  label: 'organization',
  readRoute: 'org.read',
  fixed: ['slug'],
  defaults: {},
  async load({ db, orgId }) {
    const row = await findOrg(db, orgId);
    return row === undefined ? [] : [{ id: orgId, fields: pick(row, orgFields) }];
  },
  complete: (item) => item,
  change: (_resource, changed) => ({
    // Only operators set the home region.
    route: changed.home_region === undefined ? 'org.change' : 'orgs.change',
    body: changed,
  }),
};

export const retentionPolicy: SingleSection = {
  shape: 'single',
  name: 'retention_policy',
  label: 'retention policy',
  readRoute: 'retention_policy.read',
  defaults: retentionDefaults,
  async load({ db, orgId }) {
    const view = viewRetentionPolicy(await findPolicy(db, orgId));
    return [{ id: orgId, fields: pick(view, Object.keys(retentionDefaults)) }];
  },
  change: (_resource, _changed, body) => ({ route: 'retention_policy.put', body }),
};
