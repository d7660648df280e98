/** Exports the charges of an organization in the columns of FOCUS. */
import type { Database } from '../../../platform/db/database.ts';
import type { StreamResponse } from '../../../platform/http/message/reply.ts';
import type { Prices } from '../../spend/models/index.ts';
import type { SpooledExports } from '../usage/index.ts';
import type { BillingAccount, FocusCharge } from './charge.ts';
import { writeCsv } from './csv-format.ts';
import { kindCharges } from './kind-charges.ts';
import { writeParquet } from './parquet-format.ts';
import { type FocusPlan, planFocus } from './plan.ts';
import { findAccountName, parseCharge, readCharges } from './queries.ts';
import type { FocusFormat, FocusQuery, VersionName } from './schema.ts';
import type { FocusVersion } from './version.ts';
import { wholeCharges } from './whole-charges.ts';

const versions: Readonly<Record<VersionName, FocusVersion>> = { '1.2': wholeCharges, '1.4': kindCharges };

const formats = {
  csv: { contentType: 'text/csv; charset=utf-8', write: writeCsv },
  parquet: { contentType: 'application/vnd.apache.parquet', write: writeParquet },
} as const satisfies Record<FocusFormat, object>;

export interface FocusDependencies {
  readonly db: Database;
  readonly exports: SpooledExports;
  /** The price list, for the provider of models whose runs have none. */
  readonly prices: Pick<Prices, 'find'>;
}

interface Exported {
  readonly plan: FocusPlan;
  readonly version: FocusVersion;
  readonly account: BillingAccount;
}

export type ExportFocus = (orgId: string, query: FocusQuery, now: Date) => Promise<StreamResponse>;

export function createFocusExport({ db, exports, prices }: FocusDependencies): ExportFocus {
  async function* charges(
    lines: AsyncIterable<readonly string[]>,
    { plan, version, account }: Exported,
  ): AsyncGenerator<readonly FocusCharge[]> {
    const providers = new Map<string, string | null>();
    const providerOf = async (model: string) => {
      if (!providers.has(model)) {
        const price = await prices.find(account.id, model, plan.range.toMs);
        providers.set(model, price?.provider ?? null);
      }
      return providers.get(model) ?? null;
    };
    for await (const part of lines) {
      const batch: FocusCharge[] = [];
      for (const line of part) {
        const group = parseCharge(line, plan, version);
        const provider = group.provider === '' ? await providerOf(group.model) : null;
        batch.push(version.chargeOf(group, { plan, account, provider }));
      }
      yield batch;
    }
  }

  return async (orgId, query, now) => {
    const version = versions[query.version ?? '1.2'];
    const plan = planFocus(orgId, query, now, version);
    const account = { id: orgId, name: await findAccountName(db, orgId) };
    const { contentType, write } = formats[query.format ?? 'csv'];
    return exports(orgId, {
      contentType,
      read: (tx, parts, take) => readCharges(tx, plan, version, { ...parts, take }),
      write: (lines) => write(charges(lines, { plan, version, account }), version.columns),
    });
  };
}
