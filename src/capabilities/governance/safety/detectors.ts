/** Creates, changes and deletes the custom detectors of an org, and changes the built-in ones. */
import { apiError, found, invalidField, invalidFields } from '../../../contract/api-error.ts';
import { notifyRunOnlyCheckChanged } from '../../../ledger/limits/change-notifications.ts';
import { changeChannel } from '../../../platform/db/change-channel.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import { lockOrg } from '../../access/orgs/index.ts';
import { builtIns, findBuiltIn } from './built-in.ts';
import { checkPattern, compilePattern } from './own-pattern.ts';
import { type DetectorRow, deleteDetector, selectDetectors, upsertDetector } from './queries.ts';
import {
  type CreateDetector,
  contentCharactersMax,
  type DetectorView,
  type PatchDetector,
} from './schema.ts';
import { checkWords } from './word-list.ts';

export const detectorsChanged = changeChannel('safety');

export const ownDetectorsMax = 50;
/** Maximum number of custom patterns. It is lower than `ownDetectorsMax`, because a pattern costs far more than a list of words. */
export const ownPatternsMax = 20;

/** A built-in detector that was never changed. It has no row and is disabled. */
export interface UntouchedRow extends Omit<DetectorRow, 'created_at' | 'updated_at'> {
  readonly created_at: null;
  readonly updated_at: null;
}
export type AnyRow = DetectorRow | UntouchedRow;

/** Returns all detectors of the org: the built-in ones in their order, then the custom ones by creation. */
export async function allDetectors(db: Queryable, orgId: string): Promise<AnyRow[]> {
  const rows = await selectDetectors(db, orgId);
  return [
    ...builtIns.map(({ id }) => rows.find((row) => row.id === id) ?? untouched(orgId, id)),
    ...rows.filter(({ kind }) => kind !== 'built_in'),
  ];
}

function untouched(orgId: string, id: string): UntouchedRow {
  return {
    org_id: orgId,
    id,
    name: id,
    kind: 'built_in',
    pattern: null,
    words: null,
    threshold: 1,
    action: 'flag',
    enabled: false,
    created_at: null,
    updated_at: null,
  };
}

export function viewDetector(row: AnyRow): DetectorView {
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    description: findBuiltIn(row.id)?.description ?? null,
    enabled: row.enabled,
    action: row.action,
    threshold: row.threshold,
    pattern: row.pattern,
    words: row.words === null ? null : [...row.words],
    looks_at_characters:
      row.pattern === null ? contentCharactersMax : compilePattern(row.pattern).charactersMax,
    created_at: row.created_at?.toISOString() ?? null,
    updated_at: row.updated_at?.toISOString() ?? null,
  };
}

export interface DetectorName {
  readonly orgId: string;
  readonly id: string;
}

export async function requireDetector(db: Queryable, { orgId, id }: DetectorName): Promise<AnyRow> {
  return found((await allDetectors(db, orgId)).find((one) => one.id === id));
}

export async function createDetector(
  tx: Transaction,
  ids: Ids,
  now: Date,
  orgId: string,
  body: CreateDetector,
): Promise<DetectorRow> {
  const row: DetectorRow = {
    org_id: orgId,
    id: ids.next('det'),
    name: body.name,
    kind: body.kind,
    pattern: body.pattern ?? null,
    words: body.words ?? null,
    threshold: body.threshold ?? 1,
    action: body.action,
    enabled: body.enabled ?? true,
    created_at: now,
    updated_at: now,
  };
  checkKind(row);
  await lockOrg(tx, orgId);
  await save(tx, row);
  return row;
}

export interface DetectorChange {
  readonly before: AnyRow;
  readonly after: DetectorRow;
}

export async function changeDetector(
  tx: Transaction,
  now: Date,
  name: DetectorName,
  patch: PatchDetector,
): Promise<DetectorChange> {
  await lockOrg(tx, name.orgId);
  const before = await requireDetector(tx, name);
  if (before.kind === 'built_in') {
    checkBuiltInPatch(patch);
  }
  const after: DetectorRow = {
    ...before,
    ...patch,
    created_at: before.created_at ?? now,
    updated_at: now,
  };
  checkKind(after);
  await save(tx, after);
  return { before, after };
}

export async function removeDetector(tx: Transaction, name: DetectorName): Promise<AnyRow> {
  await lockOrg(tx, name.orgId);
  const row = await requireDetector(tx, name);
  if (row.kind === 'built_in') {
    throw apiError('conflict', 'Built-in detectors cannot be deleted. Disable it instead.');
  }
  await deleteDetector(tx, name.orgId, name.id);
  await notifyChange(tx, name.orgId);
  return row;
}

/** Stores a detector. The caller must hold the org's lock, so that concurrent requests cannot exceed the maximum or use the same name. */
async function save(tx: Transaction, row: DetectorRow): Promise<void> {
  const others = (await allDetectors(tx, row.org_id)).filter(({ id }) => id !== row.id);
  if (others.some(({ name }) => name === row.name)) {
    throw apiError('conflict', 'A detector with this name already exists.');
  }
  const own = [row, ...others].filter(({ kind }) => kind !== 'built_in');
  if (own.length > ownDetectorsMax) {
    throw apiError('conflict', `An organization can have at most ${ownDetectorsMax} custom detectors.`);
  }
  if (own.filter(({ kind }) => kind === 'regex').length > ownPatternsMax) {
    throw apiError(
      'conflict',
      `An organization can have at most ${ownPatternsMax} detectors of kind \`regex\`.`,
    );
  }
  await upsertDetector(tx, row);
  await notifyChange(tx, row.org_id);
}

/** Notifies of a change. The edge only needs to know whether any detector is enabled. */
async function notifyChange(tx: Transaction, orgId: string): Promise<void> {
  const rows = await selectDetectors(tx, orgId);
  const applies = rows.some(({ enabled }) => enabled);
  await notifyRunOnlyCheckChanged(tx, orgId, 'safety', applies);
  await detectorsChanged.notify(tx, orgId);
}

/** Throws if a field does not belong to the kind, or if a pattern or word is invalid. */
function checkKind({ kind, pattern, words }: DetectorRow): void {
  if (kind === 'built_in') {
    return;
  }
  const [wanted, other] =
    kind === 'regex' ? (['pattern', 'words'] as const) : (['words', 'pattern'] as const);
  const given = { pattern, words };
  if (given[wanted] === null) {
    throw invalidField(wanted, 'required', `Required for kind \`${kind}\`.`);
  }
  if (given[other] !== null) {
    throw invalidField(other, 'invalid_value', `Not allowed for kind \`${kind}\`.`);
  }
  if (pattern !== null) {
    checkPattern(pattern);
  }
  if (words !== null) {
    checkWords(words);
  }
}

function checkBuiltInPatch({ name, pattern, words }: PatchDetector): void {
  const fixed = Object.entries({ name, pattern, words }).filter(([, value]) => value !== undefined);
  if (fixed.length > 0) {
    throw invalidFields(
      fixed.map(([field]) => ({
        field,
        code: 'invalid_value',
        message: 'Only `enabled`, `action` and `threshold` of a built-in detector can be changed.',
      })),
    );
  }
}
