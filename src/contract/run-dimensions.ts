/**
 * Dimensions of a run: the fields that limits match, and by which usage, forecasts and lists are filtered and grouped. This is the
 * only list of them. Each is a column of the same name in `runs`. Tags are not in the list, because their names are free. They
 * belong to the scope, to usage and to limits nevertheless, as the column `tags`.
 */

interface RunDimension {
  /** `label`: an optional field of decisions and runs, chosen by the caller. `fixed`: always has a value. */
  readonly source: 'label' | 'fixed';
  /** True if the scope of decisions and postings has it. */
  readonly inScope: boolean;
  /** True if it is a column of `usage_rollups` and `usage_days`. */
  readonly inUsage: boolean;
  /** True if limits can match it. It is then also a column of `ledger_entries`. */
  readonly inLimits: boolean;
  /** True if the attribution of keys has it. */
  readonly inAttribution: boolean;
  /** The kind of budgets that count by the dimension, as the API names it; null if there are none. */
  readonly scopeKind: string | null;
  /**
   * Rule for a run that settles a hold without a value. `hold`: the run must not state one. `hold_or_run`: the run's value counts.
   * `any`: the run may state another value, but counts as the hold.
   */
  readonly settledBy: 'hold' | 'hold_or_run' | 'any';
  /**
   * Treatment when a customer is erased. `replace`: the value is the customer's id, and becomes the pseudonym. `rename`: the
   * value is a name that may contain the id, and the id in it becomes the pseudonym. `keep`: never derived from a customer.
   */
  readonly erasure: 'replace' | 'rename' | 'keep';
  /** The release that added the dimension. Texts and digests that earlier releases stored do not contain it. */
  readonly since: '0.1.0' | '0.2.0';
  /** The header with which a gateway call states it. */
  readonly header: string | null;
  /** OpenTelemetry attributes that contain it, most specific first; empty if telemetry has a separate rule. */
  readonly attributes: readonly string[];
  /** The name as it appears in the middle of a sentence. */
  readonly noun: string;
  /** The policy variable of this dimension; null if policies do not have one. */
  readonly expression: string | null;
}

/** The order determines the digest of a usage row and the text of a hold, so new dimensions must be added at the end. */
export const runDimensions = {
  key_id: {
    source: 'fixed',
    inScope: true,
    inUsage: true,
    inLimits: true,
    inAttribution: false,
    scopeKind: 'key',
    settledBy: 'any',
    erasure: 'keep',
    since: '0.1.0',
    header: null,
    attributes: [],
    noun: 'API key',
    expression: 'key_id == "key_01hzy4t0000000000000000000"',
  },
  model: {
    source: 'fixed',
    inScope: true,
    inUsage: true,
    inLimits: true,
    inAttribution: false,
    scopeKind: 'model',
    settledBy: 'any',
    erasure: 'keep',
    since: '0.1.0',
    header: null,
    attributes: [],
    noun: 'model',
    expression: 'model.startsWith("gpt-4")',
  },
  provider: {
    source: 'label',
    inScope: true,
    inUsage: true,
    inLimits: true,
    inAttribution: false,
    scopeKind: 'provider',
    settledBy: 'hold_or_run',
    erasure: 'keep',
    since: '0.1.0',
    header: null,
    attributes: [],
    noun: 'provider',
    expression: 'provider == "openai"',
  },
  action: {
    source: 'label',
    inScope: true,
    inUsage: false,
    inLimits: false,
    inAttribution: false,
    scopeKind: null,
    settledBy: 'hold_or_run',
    erasure: 'keep',
    since: '0.1.0',
    header: null,
    attributes: ['purser.action'],
    noun: 'action',
    expression: 'action == "email.send_bulk"',
  },
  workflow: {
    source: 'label',
    inScope: true,
    inUsage: true,
    inLimits: true,
    inAttribution: true,
    scopeKind: 'workflow',
    settledBy: 'hold',
    erasure: 'keep',
    since: '0.1.0',
    header: 'x-svc-workflow',
    attributes: ['purser.workflow', 'gen_ai.workflow.name', 'traceloop.workflow.name', 'service.name'],
    noun: 'workflow',
    expression: 'workflow == "code-review"',
  },
  deployment: {
    source: 'label',
    inScope: true,
    inUsage: true,
    inLimits: true,
    inAttribution: true,
    scopeKind: 'deployment',
    settledBy: 'hold',
    erasure: 'keep',
    since: '0.1.0',
    header: null,
    attributes: ['purser.deployment', 'deployment.environment.name', 'deployment.environment'],
    noun: 'deployment',
    expression: 'deployment == "production"',
  },
  department: {
    source: 'label',
    inScope: true,
    inUsage: true,
    inLimits: true,
    inAttribution: true,
    scopeKind: 'department',
    settledBy: 'hold',
    erasure: 'keep',
    since: '0.1.0',
    header: 'x-svc-department',
    attributes: ['purser.department', 'department'],
    noun: 'department',
    expression: 'department != "engineering"',
  },
  team: {
    source: 'label',
    inScope: true,
    inUsage: true,
    inLimits: true,
    inAttribution: true,
    scopeKind: 'team',
    settledBy: 'hold_or_run',
    erasure: 'keep',
    since: '0.1.0',
    header: 'x-svc-team',
    attributes: ['purser.team', 'team.id', 'team'],
    noun: 'team',
    expression: 'team in ["research", "platform"]',
  },
  customer_id: {
    source: 'label',
    inScope: true,
    inUsage: true,
    inLimits: true,
    inAttribution: true,
    // Limits of customers are a separate kind, not budgets.
    scopeKind: null,
    settledBy: 'hold',
    erasure: 'replace',
    since: '0.1.0',
    header: 'x-svc-customer',
    attributes: [
      'purser.customer',
      'traceloop.association.properties.customer_id',
      'enduser.id',
      'user.id',
      'traceloop.association.properties.user_id',
      'gen_ai.user',
    ],
    noun: 'customer',
    expression: 'customer_id == "acme"',
  },
  chain_id: {
    source: 'label',
    inScope: true,
    inUsage: false,
    inLimits: true,
    inAttribution: false,
    scopeKind: null,
    settledBy: 'hold_or_run',
    erasure: 'rename',
    since: '0.1.0',
    header: 'x-svc-chain',
    attributes: [],
    noun: 'chain',
    expression: null,
  },
  status: {
    source: 'fixed',
    inScope: false,
    inUsage: true,
    inLimits: false,
    inAttribution: false,
    scopeKind: null,
    settledBy: 'any',
    erasure: 'keep',
    since: '0.1.0',
    header: null,
    attributes: [],
    noun: 'status',
    expression: null,
  },
  member_id: {
    source: 'label',
    inScope: true,
    inUsage: true,
    inLimits: true,
    inAttribution: true,
    scopeKind: 'member',
    settledBy: 'hold_or_run',
    erasure: 'keep',
    since: '0.2.0',
    header: null,
    attributes: [],
    noun: 'member',
    expression: 'member_id != ""',
  },
  project: {
    source: 'label',
    inScope: true,
    inUsage: true,
    inLimits: true,
    inAttribution: true,
    scopeKind: 'project',
    settledBy: 'hold_or_run',
    erasure: 'keep',
    since: '0.2.0',
    header: 'x-svc-project',
    attributes: ['purser.project', 'openinference.project.name'],
    noun: 'project',
    expression: 'project == "search"',
  },
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
export type AttributionLabel = DimensionsWith<'inAttribution', true>;
/** Dimensions that policies have a variable for. */
export type PolicyDimension = DimensionsWith<'expression', string>;
/** The labels that a call through the gateway can state. */
export type HeaderDimension = DimensionsWith<'header', string>;
/** Dimensions that stay unchanged when a customer is erased. */
export type KeptDimension = DimensionsWith<'erasure', 'keep'>;
/** Kinds of budgets that count by a dimension. */
export type DimensionScopeKind = NonNullable<Dimensions[RunDimensionName]['scopeKind']>;

export const runDimensionNames = Object.keys(runDimensions) as readonly RunDimensionName[];

/** Returns a property of a dimension with its declared type instead of its literal type. */
export function propertyOf<Property extends keyof RunDimension>(
  name: RunDimensionName,
  property: Property,
): RunDimension[Property] {
  const declared: RunDimension = runDimensions[name];
  return declared[property];
}

function dimensionsWhere<Property extends keyof RunDimension, Value extends RunDimension[Property]>(
  property: Property,
  isWanted: (value: RunDimension[Property]) => value is Value,
) {
  return runDimensionNames.filter((name) => isWanted(propertyOf(name, property))) as DimensionsWith<
    Property,
    Value
  >[];
}

const isTrue = (value: boolean): value is true => value;
const isNamed = (value: string | null): value is string => value !== null;

export const scopeDimensions: readonly ScopeDimension[] = dimensionsWhere('inScope', isTrue);
export const usageDimensions: readonly UsageDimension[] = dimensionsWhere('inUsage', isTrue);
export const limitDimensions: readonly LimitDimension[] = dimensionsWhere('inLimits', isTrue);
export const labelDimensions: readonly LabelDimension[] = dimensionsWhere(
  'source',
  (source) => source === 'label',
);
export const policyDimensions: readonly PolicyDimension[] = dimensionsWhere('expression', isNamed);
export const headerDimensions: readonly HeaderDimension[] = dimensionsWhere('header', isNamed);

/** Orders that are stored or published and so differ from the declaration. New dimensions follow at the end. */
export const attributionLabels = inOrder<AttributionLabel>(
  ['member_id', 'team', 'department', 'workflow', 'deployment', 'customer_id'],
  dimensionsWhere('inAttribution', isTrue),
);

export const dimensionScopeKinds = inOrder<DimensionScopeKind>(
  ['workflow', 'deployment', 'department', 'key', 'member', 'team', 'model', 'provider'],
  runDimensionNames.flatMap((name) => runDimensions[name].scopeKind ?? []),
);

/** Returns the name of a dimension for the middle of a sentence; undefined for other fields. */
export function nounOf(field: string): string | undefined {
  return runDimensionNames.includes(field as RunDimensionName)
    ? runDimensions[field as RunDimensionName].noun
    : undefined;
}

/** Returns all elements: first those in `first`, then the others. */
export function inOrder<Element>(first: readonly Element[], all: readonly Element[]): readonly Element[] {
  return [...first, ...all.filter((element) => !first.includes(element))];
}

/** Returns an object with the same value for each name, such as one schema for several fields. */
export function forEachName<Name extends string, Value>(
  names: readonly Name[],
  value: Value,
): Record<Name, Value> {
  return Object.fromEntries(names.map((name) => [name, value])) as Record<Name, Value>;
}
