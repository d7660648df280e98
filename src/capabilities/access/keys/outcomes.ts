/** Response, audit entry and event of a key change. */
import { platformTenant } from '../../../platform/http/routes/access.ts';
import type { Change } from '../../../platform/http/routes/route.ts';
import { type KeyChange, type NewKey, type Rotation, viewKey, viewMinted } from './keys.ts';

function keyChange(key: { org_id: string | null; id: string }, parts: Partial<Change>): Change {
  return { tenantId: key.org_id ?? platformTenant, target: { kind: 'key', id: key.id }, ...parts };
}

export function minted(created: NewKey, now: Date) {
  const after = viewKey(created.key, now);
  return {
    body: viewMinted(created, now),
    changes: [keyChange(created.key, { after, event: 'key.created' })],
  };
}

export function rotated({ before, old, ...created }: Rotation, now: Date) {
  return {
    body: viewMinted(created, now),
    changes: [
      keyChange(old, { before: viewKey(before, now), after: viewKey(old, now), event: 'key.rotated' }),
      keyChange(created.key, { after: viewKey(created.key, now), event: 'key.created' }),
    ],
  };
}

export function patched({ before, after }: KeyChange, now: Date) {
  const view = viewKey(after, now);
  return {
    body: view,
    changes: [keyChange(after, { before: viewKey(before, now), after: view, event: 'key.updated' })],
  };
}

export function revoked({ before, after }: KeyChange, now: Date) {
  const change = keyChange(after, {
    before: viewKey(before, now),
    after: viewKey(after, now),
    event: 'key.revoked',
  });
  return { body: {}, changes: before === after ? [] : [change] };
}
