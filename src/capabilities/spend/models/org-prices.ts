/** Custom prices of an org: custom rates, or a discount on the list price. */

import { found, invalidField, invalidFields } from '../../../contract/api-error.ts';
import type { FieldError } from '../../../contract/errors.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import { lockOrg } from '../../access/orgs/index.ts';
import { formatPercent, parsePercent } from './discount.ts';
import { checkModelName, checkModifiers, makeRoom, type PriceChange, startOf } from './models.ts';
import { noPrice, type PriceColumns, priceColumnsOf, samePrice, viewPriceColumns } from './price-columns.ts';
import {
  endOrgPrices,
  insertOrgPrice,
  modelVersions,
  type OrgPriceRow,
  orgPricesChanged,
  orgVersions,
  withdrawOrgPrice,
} from './queries.ts';
import { rateFields } from './rates.ts';
import type { OrgPriceVersion, PutOrgPrice } from './schema.ts';
import { inForceAt, isWithdrawn, shownAt, statusAt } from './versions.ts';

export interface OrgPriceKey {
  readonly orgId: string;
  readonly model: string;
}

export function viewOrgPrice(row: OrgPriceRow, versions: readonly OrgPriceRow[], now: Date): OrgPriceVersion {
  return {
    id: row.id,
    org_id: row.org_id,
    model: row.model,
    status: statusAt(row, versions, now.getTime()),
    discount_percent: row.discount_basis_points === null ? null : formatPercent(row.discount_basis_points),
    ...viewPriceColumns(row),
    effective_from: row.effective_from.toISOString(),
    ended_at: row.ended_at === null ? null : row.ended_at.toISOString(),
    created_at: row.created_at.toISOString(),
  };
}

export async function putOrgPrice(
  tx: Transaction,
  ids: Ids,
  now: Date,
  { orgId, model }: OrgPriceKey,
  body: PutOrgPrice,
): Promise<PriceChange<OrgPriceRow>> {
  checkModelName(model);
  checkModifiers(body);
  const terms = termsOf(body);
  await requireOrg(tx, orgId);
  if (terms.discount_basis_points !== null && !(await hasPrice(tx, model))) {
    throw invalidField('discount_percent', 'invalid_value', 'The model has no list price to discount.');
  }
  const versions = await orgVersions(tx, orgId, model);
  const start = startOf(body, now);
  const before = inForceAt(versions, start.getTime());
  if (before !== undefined && before.ended_at === null && sameTerms(before, terms)) {
    return { before, after: before, versionsBefore: versions, versions, changed: false };
  }
  const after: OrgPriceRow = {
    org_id: orgId,
    id: ids.next('prc'),
    model,
    ...terms,
    effective_from: start,
    ended_at: null,
    created_at: now,
  };
  await makeRoom(versions, start, (version) => withdrawOrgPrice(tx, orgId, version.id));
  await insertOrgPrice(tx, after);
  await orgPricesChanged.notify(tx, orgId);
  const versionsAfter = await orgVersions(tx, orgId, model);
  return { before, after, versionsBefore: versions, versions: versionsAfter, changed: true };
}

/** Ends the custom price now. The list price applies from now on; earlier runs keep their price. */
export async function removeOrgPrice(
  tx: Transaction,
  now: Date,
  { orgId, model }: OrgPriceKey,
): Promise<PriceChange<OrgPriceRow> & { readonly before: OrgPriceRow }> {
  await requireOrg(tx, orgId);
  const versionsBefore = await orgVersions(tx, orgId, model);
  const before = found(shownAt(versionsBefore, now.getTime()));
  await endOrgPrices(tx, orgId, model, now);
  await orgPricesChanged.notify(tx, orgId);
  const versions = await orgVersions(tx, orgId, model);
  const after = versions.find(({ id }) => id === before.id) ?? before;
  return { before, after, versionsBefore, versions, changed: true };
}

type Terms = PriceColumns & Pick<OrgPriceRow, 'discount_basis_points'>;

function termsOf(body: PutOrgPrice): Terms {
  if (body.discount_percent == null) {
    if (body.input_usd_per_million == null) {
      throw invalidField(
        'input_usd_per_million',
        'required',
        'Set this rate, or `discount_percent` for a discount on the list price.',
      );
    }
    return { ...priceColumnsOf(body), discount_basis_points: null };
  }
  const fieldErrors = [...rateFields, 'modifiers' as const, 'units' as const]
    .filter((field) => body[field] != null && Object.keys(body[field]).length > 0)
    .map(
      (field): FieldError => ({
        field,
        code: 'invalid_value',
        message: 'Must be left out if `discount_percent` is set.',
      }),
    );
  const basisPoints = parsePercent(body.discount_percent);
  if (basisPoints === undefined) {
    fieldErrors.push({ field: 'discount_percent', code: 'out_of_range', message: 'Must be at most 100.' });
  }
  if (fieldErrors.length > 0 || basisPoints === undefined) {
    throw invalidFields(fieldErrors);
  }
  return { ...noPrice, discount_basis_points: basisPoints };
}

function sameTerms(one: Terms, other: Terms): boolean {
  return one.discount_basis_points === other.discount_basis_points && samePrice(one, other);
}

/** Locks the org, which serializes changes of its prices. Throws if the org does not exist. */
async function requireOrg(tx: Transaction, orgId: string): Promise<void> {
  found(await lockOrg(tx, orgId));
}

async function hasPrice(tx: Transaction, model: string): Promise<boolean> {
  return (await modelVersions(tx, model)).some((version) => !isWithdrawn(version));
}
