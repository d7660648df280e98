/** List prices of models. A price consists of versions, each in force from its start until the next one starts. */
import { apiError, invalidField, invalidFields } from '../../../contract/api-error.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import { catalogStart } from './catalog.ts';
import { modifierErrors } from './modifier-errors.ts';
import { priceColumnsOf, samePrice, viewPriceColumns } from './price-columns.ts';
import {
  allModels,
  insertModelPrice,
  lockModel,
  type ModelPriceRow,
  modelPricesChanged,
  modelVersions,
  setFollowsUpdates,
  withdrawModelPrice,
} from './queries.ts';
import { type ModelPriceVersion, modelLengthMax, type PutModelPrice } from './schema.ts';
import { inForceAt, isWithdrawn, statusAt, type Version } from './versions.ts';

/** Maximum number of versions of a price, because every change reads all of them, and they are cached in memory. */
export const versionsMax = 1_000;
export const shownVersionsMax = 100;

export interface PriceChange<Row extends Version> {
  /** The version that was in force at the start of the new version, or the removed version. */
  readonly before: Row | undefined;
  readonly after: Row;
  /** All versions before and after the change, latest first. */
  readonly versionsBefore: readonly Row[];
  readonly versions: readonly Row[];
  readonly changed: boolean;
}

export function viewModelPrice(
  row: ModelPriceRow,
  versions: readonly ModelPriceRow[],
  now: Date,
): ModelPriceVersion {
  return {
    id: row.id,
    model: row.model,
    provider: row.provider,
    status: statusAt(row, versions, now.getTime()),
    ...viewPriceColumns(row),
    follows_updates: followsUpdates(row),
    source: row.source,
    effective_from: row.effective_from.toISOString(),
    created_at: row.created_at.toISOString(),
  };
}

/**
 * Returns true if price updates may replace the version. Release 0.1.0 does not store it: of its versions, only those that the
 * catalog inserted were created at the catalog's fixed time.
 */
export function followsUpdates({ follows_updates, created_at }: ModelPriceRow): boolean {
  return follows_updates ?? created_at.getTime() === catalogStart.getTime();
}

/**
 * Sets the list price. A price that is already in force creates no version, so that setting the same prices every day changes
 * nothing. The price then belongs to the operator, unless `follows_updates` says otherwise.
 */
export async function putModelPrice(
  tx: Transaction,
  ids: Ids,
  now: Date,
  model: string,
  body: PutModelPrice,
): Promise<PriceChange<ModelPriceRow>> {
  checkModelName(model);
  checkModifiers(body);
  await lockModel(tx, model);
  const versions = await modelVersions(tx, model);
  const start = startOf(body, now);
  const before = inForceAt(versions, start.getTime());
  const after: ModelPriceRow = {
    id: ids.next('prc'),
    model,
    provider: body.provider === undefined ? (versions[0]?.provider ?? null) : body.provider,
    ...priceColumnsOf(body),
    effective_from: start,
    ended_at: null,
    created_at: now,
    follows_updates: body.follows_updates ?? false,
    source: null,
  };
  if (before !== undefined && before.provider === after.provider && samePrice(before, after)) {
    if (followsUpdates(before) !== after.follows_updates) {
      await setFollowsUpdates(tx, before.id, after.follows_updates === true);
      const versionsAfter = await modelVersions(tx, model);
      const same = { ...before, follows_updates: after.follows_updates };
      return { before, after: same, versionsBefore: versions, versions: versionsAfter, changed: true };
    }
    return { before, after: before, versionsBefore: versions, versions, changed: false };
  }
  await makeRoom(versions, start, (version) => withdrawModelPrice(tx, version.id));
  await insertModelPrice(tx, after);
  await modelPricesChanged.notify(tx, allModels);
  const versionsAfter = await modelVersions(tx, model);
  return { before, after, versionsBefore: versions, versions: versionsAfter, changed: true };
}

export function checkModifiers({ modifiers }: Pick<PutModelPrice, 'modifiers'>): void {
  const fieldErrors = modifierErrors(modifiers);
  if (fieldErrors.length > 0) {
    throw invalidFields(fieldErrors);
  }
}

export function startOf({ effective_from }: { readonly effective_from?: string }, now: Date): Date {
  return effective_from === undefined ? now : new Date(effective_from);
}

/** Makes room for a version by withdrawing one with the same start. The rates of a version never change, because runs reference it. */
export async function makeRoom<Row extends Version>(
  versions: readonly Row[],
  start: Date,
  withdraw: (version: Row) => Promise<void>,
): Promise<void> {
  if (versions.length >= versionsMax) {
    throw apiError('conflict', `The price already has the maximum of ${versionsMax} versions.`);
  }
  for (const version of versions) {
    if (!isWithdrawn(version) && version.effective_from.getTime() === start.getTime()) {
      await withdraw(version);
    }
  }
}

export const modelNameForm = /^[^\s\p{Cc}]([^\p{Cc}]*[^\s\p{Cc}])?$/u;
export const invalidForm = 'Must not start or end with whitespace or contain control characters.';

/** Throws for an invalid name. Names are case-sensitive. */
export function checkModelName(model: string): void {
  if ([...model].length > modelLengthMax) {
    throw invalidField('model', 'out_of_range', `Must be at most ${modelLengthMax} characters.`);
  }
  if (!modelNameForm.test(model)) {
    throw invalidField('model', 'invalid_format', invalidForm);
  }
}
