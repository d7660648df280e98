/** The response, audit entry and event of a key change. */
import { changed, created } from '../../../platform/http/routes/outcomes.ts';
import { type KeyChange, type NewKey, type Rotation, viewKey, viewMinted } from './keys.ts';
import type { KeyRow } from './queries.ts';

const viewAt = (now: Date) => (key: KeyRow) => viewKey(key, now);

export function minted(minting: NewKey, now: Date) {
  return { ...created('key', minting.key, viewAt(now), 'key.created'), body: viewMinted(minting, now) };
}

export function rotated({ before, old, ...successor }: Rotation, now: Date) {
  const { body, changes } = minted(successor, now);
  const ended = changed('key', { before, after: old }, viewAt(now), 'key.rotated');
  return { body, changes: [...ended.changes, ...changes] };
}

export function patched(change: KeyChange, now: Date) {
  return changed('key', change, viewAt(now), 'key.updated');
}

export function revoked({ before, after }: KeyChange, now: Date) {
  const { changes } = changed('key', { before, after }, viewAt(now), 'key.revoked');
  return { body: {}, changes: before === after ? [] : changes };
}
