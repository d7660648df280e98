/** The policy of an org for models without a price. Each change creates a version, because holds and runs reference it. */
import { found, invalidFields } from '../../../contract/api-error.ts';
import type { FieldError } from '../../../contract/errors.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import { lockOrg } from '../../access/orgs/index.ts';
import { columnsOf, noRates, rateFields, sameRates, viewColumns } from '../models/index.ts';
import {
  findUnpricedPolicy,
  insertUnpricedPolicy,
  type UnpricedPolicyRow,
  unpricedPolicyChanged,
} from './queries.ts';
import type { PutUnpricedPolicy, UnpricedPolicyView } from './schema.ts';

export function viewUnpricedPolicy(row: UnpricedPolicyRow | undefined): UnpricedPolicyView {
  return {
    on_unpriced: row?.on_unpriced ?? 'refuse',
    id: row?.id ?? null,
    ...viewColumns(row ?? noRates),
    updated_at: row?.created_at.toISOString() ?? null,
  };
}

export interface UnpricedPolicyChange {
  readonly before: UnpricedPolicyRow | undefined;
  readonly after: UnpricedPolicyRow | undefined;
  readonly changed: boolean;
}

/** Sets the policy. Locks the org, so that the later of two concurrent changes is in force. */
export async function putUnpricedPolicy(
  tx: Transaction,
  ids: Ids,
  now: Date,
  orgId: string,
  body: PutUnpricedPolicy,
): Promise<UnpricedPolicyChange> {
  checkRates(body);
  found(await lockOrg(tx, orgId));
  const before = await findUnpricedPolicy(tx, orgId);
  const rates = columnsOf(body);
  if ((before?.on_unpriced ?? 'refuse') === body.on_unpriced && sameRates(before ?? noRates, rates)) {
    return { before, after: before, changed: false };
  }
  const after: UnpricedPolicyRow = {
    ...rates,
    org_id: orgId,
    version: (before?.version ?? 0) + 1,
    id: ids.next('upr'),
    on_unpriced: body.on_unpriced,
    created_at: now,
  };
  await insertUnpricedPolicy(tx, after);
  await unpricedPolicyChanged.notify(tx, orgId);
  return { before, after, changed: true };
}

const requiredRates = ['input_usd_per_million', 'output_usd_per_million'] as const;

function checkRates(body: PutUnpricedPolicy): void {
  const fieldErrors =
    body.on_unpriced === 'hold_default'
      ? requiredRates
          .filter((field) => body[field] == null)
          .map((field): FieldError => ({ field, code: 'required', message: 'Required with `hold_default`.' }))
      : rateFields
          .filter((field) => body[field] != null)
          .map(
            (field): FieldError => ({
              field,
              code: 'invalid_value',
              message: 'Only allowed with `hold_default`.',
            }),
          );
  if (fieldErrors.length > 0) {
    throw invalidFields(fieldErrors);
  }
}
