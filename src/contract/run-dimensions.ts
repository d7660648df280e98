/**
 * Dimensions of a run: the fields that limits apply to and that usage, forecasts and lists are filtered and grouped by.
 * This is the only list of them. Each is a column of the same name in `runs`. Tags are not in it: their names are free.
 * They are a part of the scope, of usage and of limits all the same, as the column `tags`.
 */

interface RunDimension {
  /** `label`: an optional field of decisions and runs, chosen by the caller. `fixed`: always has a value. */
  readonly source: 'label' | 'fixed';
  /** A part of the scope of decisions and postings. */
  readonly inScope: boolean;
  /** A column of `usage_rollups` and `usage_days`. */
  readonly inUsage: boolean;
  /** A field that limits can match, and a column of `ledger_entries`. */
  readonly inLimits: boolean;
  /**
   * Treatment when a customer is erased. `replace`: the value is the customer's id, and becomes the pseudonym. `rename`: the
   * value is a name that may contain the id, and the id in it becomes the pseudonym. `keep`: never derived from a customer.
   */
  readonly erasure: 'replace' | 'rename' | 'keep';
}

/** The order determines the digest of a usage row: add new dimensions at the end (see `usageIdentity`). */
export const runDimensions = {
  key_id: { source: 'fixed', inScope: true, inUsage: true, inLimits: true, erasure: 'keep' },
  model: { source: 'fixed', inScope: true, inUsage: true, inLimits: true, erasure: 'keep' },
  provider: { source: 'label', inScope: true, inUsage: true, inLimits: true, erasure: 'keep' },
  action: { source: 'label', inScope: true, inUsage: false, inLimits: false, erasure: 'keep' },
  workflow: { source: 'label', inScope: true, inUsage: true, inLimits: true, erasure: 'keep' },
  deployment: { source: 'label', inScope: true, inUsage: true, inLimits: true, erasure: 'keep' },
  department: { source: 'label', inScope: true, inUsage: true, inLimits: true, erasure: 'keep' },
  team: { source: 'label', inScope: true, inUsage: true, inLimits: true, erasure: 'keep' },
  customer_id: { source: 'label', inScope: true, inUsage: true, inLimits: true, erasure: 'replace' },
  chain_id: { source: 'label', inScope: true, inUsage: false, inLimits: true, erasure: 'rename' },
  status: { source: 'fixed', inScope: false, inUsage: true, inLimits: false, erasure: 'keep' },
  member_id: { source: 'label', inScope: true, inUsage: true, inLimits: true, erasure: 'keep' },
} as const satisfies Record<string, RunDimension>;

type Dimensions = typeof runDimensions;
type DimensionsWith<Property extends keyof RunDimension, Value> = {
  [Name in keyof Dimensions]: Dimensions[Name][Property] extends Value ? Name : never;
}[keyof Dimensions];

export type RunDimensionName = keyof Dimensions;
export type ScopeDimension = DimensionsWith<'inScope', true>;
export type UsageDimension = DimensionsWith<'inUsage', true>;
export type LimitDimension = DimensionsWith<'inLimits', true>;
export type LabelDimension = DimensionsWith<'source', 'label'>;
/** Dimensions that stay as they are when a customer is erased. */
export type KeptDimension = DimensionsWith<'erasure', 'keep'>;

export const runDimensionNames = Object.keys(runDimensions) as readonly RunDimensionName[];

function dimensionsWith<Property extends keyof RunDimension, Value extends RunDimension[Property]>(
  property: Property,
  value: Value,
) {
  return runDimensionNames.filter((name) => runDimensions[name][property] === value) as DimensionsWith<
    Property,
    Value
  >[];
}

export const scopeDimensions: readonly ScopeDimension[] = dimensionsWith('inScope', true);
export const usageDimensions: readonly UsageDimension[] = dimensionsWith('inUsage', true);
export const limitDimensions: readonly LimitDimension[] = dimensionsWith('inLimits', true);
export const labelDimensions: readonly LabelDimension[] = dimensionsWith('source', 'label');

/** An object with the same value for each of the names, such as one schema for several fields. */
export function forEachName<Name extends string, Value>(
  names: readonly Name[],
  value: Value,
): Record<Name, Value> {
  return Object.fromEntries(names.map((name) => [name, value])) as Record<Name, Value>;
}
