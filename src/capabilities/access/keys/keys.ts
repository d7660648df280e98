/** Life cycle of a key: created, changed, rotated, revoked. A caller can give a key at most its own role and scopes. */
import { apiError, found, invalidField } from '../../../contract/api-error.ts';
import type { Attribution } from '../../../contract/attribution.ts';
import type { HoldMode } from '../../../contract/hold-modes.ts';
import type { Role } from '../../../contract/scopes.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { type Caller, outranks } from '../../../platform/http/routes/access.ts';
import { checkMayGrant } from '../../../platform/http/routes/granting.ts';
import { generateKey, keyDigest, keyHint } from '../../../platform/http/routes/key-format.ts';
import type { Ids } from '../../../platform/ids.ts';
import { touchDirectory } from '../orgs/index.ts';
import { changedAttribution, checkCovers, noAttribution } from './attribution.ts';
import { expiryUnderRules } from './key-rules.ts';
import {
  insertKey,
  type KeyRow,
  keyChanged,
  lockKey,
  lockMemberKeys,
  updateEnd,
  updateKey,
} from './queries.ts';
import type { KeyStatus, KeyView, MintedKey, PatchKey, RotateKey } from './schema.ts';

/** The latest time that the API accepts. */
const latestExpiryMs = Date.parse('2199-12-31T23:59:59.999Z');

export interface Minting {
  readonly ids: Ids;
  /** The environment, which is the middle part of new keys. */
  readonly environment: string;
}

export interface KeyDraft {
  /** Org of the key; null for an operator key. */
  readonly orgId: string | null;
  readonly name: string;
  readonly role: Role;
  readonly scopes: readonly string[];
  readonly notBefore?: Date | undefined;
  readonly expiresAt?: Date | undefined;
  /** True if `expiresAt` was not stated for this key. The rules of the org then shorten it instead of rejecting it. */
  readonly inheritsExpiry?: boolean;
  readonly rotatedFrom?: string;
  /** Default: none. */
  readonly attribution?: Attribution;
  /** Default: the setting of the org. */
  readonly hold?: HoldMode | null;
  /** Default: the setting of the org. */
  readonly reserveForRunning?: number | null;
  /** The key or member that creates the key; undefined if a command or a start of the service does. */
  readonly createdBy?: string;
}

export interface NewKey {
  readonly key: KeyRow;
  readonly secret: string;
}

export function keyStatus(key: KeyRow, now: Date): KeyStatus {
  if (key.revoked_at !== null || (key.ends_at !== null && key.ends_at <= now)) {
    return 'revoked';
  }
  if (key.expires_at !== null && key.expires_at <= now) {
    return 'expired';
  }
  return key.not_before !== null && now < key.not_before ? 'not_yet_valid' : 'active';
}

export function viewKey(key: KeyRow, now: Date): KeyView {
  return {
    id: key.id,
    org_id: key.org_id,
    name: key.name,
    role: key.role,
    scopes: [...key.scopes],
    hint: key.hint,
    status: keyStatus(key, now),
    not_before: key.not_before?.toISOString() ?? null,
    expires_at: key.expires_at?.toISOString() ?? null,
    revoked_at: (key.revoked_at ?? key.ends_at)?.toISOString() ?? null,
    rotated_from: key.rotated_from,
    created_at: key.created_at.toISOString(),
    last_used_at: key.last_used_at?.toISOString() ?? null,
    attribution: key.attribution,
    attribution_locked: [...key.attribution_locked],
    ...(key.hold !== null && { hold: key.hold }),
    ...(key.reserve_for_running !== null && { reserve_for_running: key.reserve_for_running }),
  };
}

export function viewMinted({ key, secret }: NewKey, now: Date): MintedKey {
  return { ...viewKey(key, now), secret };
}

/** Stores a new key. The caller's permission must be checked before, by `checkMayGrant`. */
export async function mintKey(
  tx: Transaction,
  { ids, environment }: Minting,
  now: Date,
  draft: KeyDraft,
  secret = generateKey(environment),
): Promise<NewKey> {
  checkValidity(draft, now);
  const expiresAt = await expiryOf(tx, draft, now);
  const { values, locked } = draft.attribution ?? noAttribution;
  const key: KeyRow = {
    org_id: draft.orgId,
    id: ids.next('key'),
    digest: keyDigest(secret),
    hint: keyHint(secret),
    name: draft.name,
    role: draft.role,
    scopes: draft.scopes,
    not_before: draft.notBefore ?? null,
    expires_at: expiresAt ?? null,
    revoked_at: null,
    ends_at: null,
    rotated_from: draft.rotatedFrom ?? null,
    created_at: now,
    last_used_at: null,
    attribution: values,
    attribution_locked: locked,
    hold: draft.hold ?? null,
    reserve_for_running: draft.reserveForRunning ?? null,
    created_by: draft.createdBy ?? null,
  };
  await insertKey(tx, key);
  if (key.org_id !== null) {
    await touchDirectory(tx, key.org_id);
  }
  return { key, secret };
}

export interface Rotation extends NewKey {
  readonly before: KeyRow;
  readonly old: KeyRow;
}

/** Creates a successor with the same name, role, scopes and attribution; the old key ends after the overlap. */
export async function rotateKey(
  tx: Transaction,
  minting: Minting,
  now: Date,
  caller: Caller,
  { orgId, keyId, request }: { orgId: string | null; keyId: string; request: RotateKey },
): Promise<Rotation> {
  const before = found(await lockKey(tx, orgId, keyId));
  checkMayGrant(caller, before.role, before.scopes);
  checkCovers(caller, attributionIn(before));
  if (before.revoked_at !== null || before.ends_at !== null) {
    throw apiError('conflict', 'The key has already been revoked or rotated.');
  }
  const { notBefore, expiresAt } = inheritedValidity(before, now);
  const created = await mintKey(tx, minting, now, {
    orgId,
    name: before.name,
    role: before.role,
    scopes: before.scopes,
    notBefore,
    expiresAt: request.expires_at === undefined ? expiresAt : new Date(request.expires_at),
    inheritsExpiry: request.expires_at === undefined,
    rotatedFrom: before.id,
    attribution: attributionIn(before),
    hold: before.hold,
    reserveForRunning: before.reserve_for_running,
    createdBy: caller.keyId,
  });
  const overlapMs = (request.overlap_seconds ?? 0) * 1_000;
  const end = overlapMs === 0 ? { revoked_at: now } : { ends_at: new Date(now.getTime() + overlapMs) };
  const old = await endKey(tx, before, end);
  return { ...created, before, old };
}

/** Returns the validity of a successor. A key that is not valid yet passes on its times. A key in use passes on its original lifetime. */
function inheritedValidity(key: KeyRow, now: Date): Pick<KeyDraft, 'notBefore' | 'expiresAt'> {
  if (key.not_before !== null && key.not_before > now) {
    return { notBefore: key.not_before, expiresAt: key.expires_at ?? undefined };
  }
  if (key.expires_at === null) {
    return {};
  }
  const validFromMs = Math.max(key.created_at.getTime(), key.not_before?.getTime() ?? 0);
  const lifetimeMs = key.expires_at.getTime() - validFromMs;
  return { expiresAt: new Date(Math.min(now.getTime() + lifetimeMs, latestExpiryMs)) };
}

function attributionIn({ attribution, attribution_locked }: KeyRow): Attribution {
  return { values: attribution, locked: attribution_locked };
}

export interface KeyChange {
  readonly before: KeyRow;
  readonly after: KeyRow;
}

/** Changes the name and the attribution, for the next request with the key. */
export async function patchKey(
  tx: Transaction,
  now: Date,
  caller: Caller,
  { orgId, keyId, patch }: { orgId: string; keyId: string; patch: PatchKey },
): Promise<KeyChange> {
  const before = await lockSubordinate(tx, caller, { orgId, keyId }, 'change');
  const { values, locked } = changedAttribution(caller, attributionIn(before), patch);
  if (keyStatus(before, now) === 'revoked') {
    throw apiError('conflict', 'The key was revoked.');
  }
  const after = {
    ...before,
    name: patch.name ?? before.name,
    attribution: values,
    attribution_locked: locked,
    hold: patch.hold === undefined ? before.hold : patch.hold,
    reserve_for_running:
      patch.reserve_for_running === undefined ? before.reserve_for_running : patch.reserve_for_running,
  };
  await updateKey(tx, after);
  await keyChanged.notify(tx, before.digest);
  return { before, after };
}

/** Revokes a key. Has no effect on a revoked key, so it can be repeated. */
export async function revokeKey(
  tx: Transaction,
  now: Date,
  caller: Caller,
  { orgId, keyId }: { orgId: string | null; keyId: string },
): Promise<KeyChange> {
  const before = await lockSubordinate(tx, caller, { orgId, keyId }, 'revoke');
  const after = keyStatus(before, now) === 'revoked' ? before : await endKey(tx, before, { revoked_at: now });
  return { before, after };
}

async function endKey(
  tx: Transaction,
  key: KeyRow,
  end: Partial<Pick<KeyRow, 'revoked_at' | 'ends_at'>>,
): Promise<KeyRow> {
  const ended = { ...key, ...end };
  await updateEnd(tx, ended);
  await keyChanged.notify(tx, key.digest);
  if (key.org_id !== null) {
    await touchDirectory(tx, key.org_id);
  }
  return ended;
}

/** Locks a key whose role is not higher than that of the caller. */
async function lockSubordinate(
  tx: Transaction,
  caller: Caller,
  { orgId, keyId }: { readonly orgId: string | null; readonly keyId: string },
  verb: 'change' | 'revoke',
): Promise<KeyRow> {
  const key = found(await lockKey(tx, orgId, keyId));
  if (outranks(key.role, caller.role)) {
    const message = `A key with role ${caller.role} cannot ${verb} a key with role ${key.role}.`;
    throw apiError('forbidden', message);
  }
  return key;
}

function expiryOf(
  tx: Transaction,
  { orgId, notBefore, expiresAt, inheritsExpiry = false }: KeyDraft,
  now: Date,
): Promise<Date | undefined> | Date | undefined {
  return orgId === null
    ? expiresAt
    : expiryUnderRules(tx, orgId, { notBefore, expiresAt, isInherited: inheritsExpiry }, now);
}

/** Revokes the keys that are locked to a member. Keys of services that the member created stay. */
export async function revokeMemberKeys(
  tx: Transaction,
  now: Date,
  orgId: string,
  memberId: string,
): Promise<KeyChange[]> {
  const changes: KeyChange[] = [];
  for (const before of await lockMemberKeys(tx, orgId, memberId)) {
    if (keyStatus(before, now) !== 'revoked') {
      changes.push({ before, after: await endKey(tx, before, { revoked_at: now }) });
    }
  }
  return changes;
}

/** Revokes a key that was not used for too long. Returns undefined if it has ended already. */
export async function endUnusedKey(
  tx: Transaction,
  now: Date,
  orgId: string,
  keyId: string,
): Promise<KeyChange | undefined> {
  const before = await lockKey(tx, orgId, keyId);
  return before === undefined || keyStatus(before, now) === 'revoked'
    ? undefined
    : { before, after: await endKey(tx, before, { revoked_at: now }) };
}

function checkValidity({ notBefore, expiresAt }: KeyDraft, now: Date): void {
  if (expiresAt !== undefined && expiresAt <= now) {
    throw invalidField('expires_at', 'out_of_range', 'Must be in the future.');
  }
  if (expiresAt !== undefined && notBefore !== undefined && expiresAt <= notBefore) {
    throw invalidField('expires_at', 'out_of_range', 'Must be after not_before.');
  }
}
