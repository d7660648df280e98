/** What models cost for everyone: versions, each from its start until the next. */
import { apiError, invalidField } from '../../../contract/api-error.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import { announceModelPriceChange } from './change-notifications.ts';
import {
  insertModelPrice,
  lockModel,
  type ModelPriceRow,
  modelVersions,
  withdrawModelPrice,
} from './queries.ts';
import { columnsOf, sameRates, viewColumns } from './rates.ts';
import { type ModelPriceVersion, modelLengthMax, type PutModelPrice } from './schema.ts';
import { holdsAt, isWithdrawn, statusAt, type Version } from './versions.ts';

/** All of them are read for every change, and kept in memory. */
const versionsMax = 1_000;
export const shownVersionsMax = 100;

export interface PriceChange<Row extends Version> {
  /** What held, before the change, at the instant from which the change counts. */
  readonly before: Row | undefined;
  readonly after: Row;
  /** All versions there were and there are now, latest first. */
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
    ...viewColumns(row),
    effective_from: row.effective_from.toISOString(),
    created_at: row.created_at.toISOString(),
  };
}

/** A price that holds already makes no new version, so that whoever puts the same prices every day changes nothing. */
export async function putModelPrice(
  tx: Transaction,
  ids: Ids,
  now: Date,
  model: string,
  body: PutModelPrice,
): Promise<PriceChange<ModelPriceRow>> {
  checkModelName(model);
  await lockModel(tx, model);
  const versions = await modelVersions(tx, model);
  const start = startOf(body, now);
  const before = holdsAt(versions, start.getTime());
  const after: ModelPriceRow = {
    id: ids.next('prc'),
    model,
    provider: body.provider === undefined ? (versions[0]?.provider ?? null) : body.provider,
    ...columnsOf(body),
    effective_from: start,
    ended_at: null,
    created_at: now,
  };
  if (before !== undefined && before.provider === after.provider && sameRates(before, after)) {
    return { before, after: before, versionsBefore: versions, versions, changed: false };
  }
  await makeRoom(versions, start, (version) => withdrawModelPrice(tx, version.id));
  await insertModelPrice(tx, after);
  await announceModelPriceChange(tx);
  const versionsAfter = await modelVersions(tx, model);
  return { before, after, versionsBefore: versions, versions: versionsAfter, changed: true };
}

export function startOf({ effective_from }: { readonly effective_from?: string }, now: Date): Date {
  return effective_from === undefined ? now : new Date(effective_from);
}

/** A version is never changed, since runs name it: one with the same start is withdrawn in favour of the new one. */
export async function makeRoom<Row extends Version>(
  versions: readonly Row[],
  start: Date,
  withdraw: (version: Row) => Promise<void>,
): Promise<void> {
  if (versions.length >= versionsMax) {
    throw apiError('conflict', `The price has ${versionsMax} versions, which is the most there can be.`);
  }
  for (const version of versions) {
    if (!isWithdrawn(version) && version.effective_from.getTime() === start.getTime()) {
      await withdraw(version);
    }
  }
}

/** A name is taken as it is: what callers send as `model` has to match it to the letter. */
export function checkModelName(model: string): void {
  if ([...model].length > modelLengthMax) {
    throw invalidField('model', 'out_of_range', `At most ${modelLengthMax} characters are allowed.`);
  }
  if (!/^[^\s\p{Cc}]([^\p{Cc}]*[^\s\p{Cc}])?$/u.test(model)) {
    throw invalidField(
      'model',
      'invalid_format',
      'A name has no blanks at its ends and no control characters.',
    );
  }
}
