/** The differences between the versions of FOCUS that can be exported. */
import type { Params } from '../usage/index.ts';
import type { ChargeContext, ChargeGroup, FocusCharge } from './charge.ts';
import type { FocusColumn } from './columns.ts';
import type { FocusPlan } from './plan.ts';

export interface FocusVersion<Charge extends FocusCharge = FocusCharge, Sum extends string = string> {
  readonly columns: readonly FocusColumn<Charge>[];
  /** True if there is a row per kind of usage. */
  readonly isByKind: boolean;
  /** Names of the sums of a charge; one of them is `usd_nanos`. */
  readonly sums: readonly Sum[];
  /** Selects the charges: the columns of `groupColumns`, then the sums. */
  selectCharges(plan: FocusPlan, params: Params): string;
  chargeOf(group: ChargeGroup<Sum>, context: ChargeContext): Charge;
}
