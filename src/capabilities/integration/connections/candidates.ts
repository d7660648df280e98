/** The order in which the connections of an org are tried for a model. Pure functions. */
import { withoutDateSuffix, withoutProviderPrefixes } from '../../../kernel/model-names.ts';
import { matchesPattern, type Pattern, patternOf } from '../../../kernel/policy.ts';
import type { Connection, WantedConnection } from './connection.ts';
import { kindOf, speaks } from './kinds/index.ts';

/** A connection with its models, parsed once. */
export interface LoadedConnection extends Connection {
  readonly modelPatterns: readonly Pattern[];
}

export function parseModels(
  models: readonly string[] | null,
): Pick<LoadedConnection, 'modelNames' | 'modelPatterns'> {
  const all = models ?? [];
  return {
    modelNames: new Set(all.filter((model) => !model.includes('*'))),
    modelPatterns: all.filter((model) => model.includes('*')).map(patternOf),
  };
}

/** Lower is better: the model itself, another name of it, a pattern, a model of the provider's own in a format that it imitates, every model. */
const ranks = { exact: 0, alias: 1, pattern: 2, own: 3, every: 4 } as const;
type Rank = (typeof ranks)[keyof typeof ranks];

export interface CandidateChoice {
  /** Returns whether the breaker lets a call try the connection in its place. */
  mayTry(connectionId: string): boolean;
  /** Returns a number from 0 to below 1. */
  random(): number;
}

export function orderCandidates(
  all: readonly LoadedConnection[],
  wanted: WantedConnection,
  model: string | undefined,
  choice: CandidateChoice,
): readonly Connection[] {
  let names: readonly string[] | undefined = 'connection' in wanted ? [] : undefined;
  const isNamed = ({ modelNames }: LoadedConnection) => {
    names ??= model === undefined ? [] : otherNames(model);
    return names.some((name) => modelNames.has(name));
  };
  const ranked: { readonly connection: Connection; readonly rank: Rank; readonly draw: number }[] = [];
  for (const connection of all) {
    const rank = serves(connection, wanted) ? rankOf(connection, wanted, model, isNamed) : undefined;
    if (rank !== undefined) {
      ranked.push({ connection, rank, draw: weightedDraw(connection.weight, choice) });
    }
  }
  if (ranked.length > 1) {
    ranked.sort(
      (one, other) =>
        one.rank - other.rank || one.connection.priority - other.connection.priority || one.draw - other.draw,
    );
  }
  const ordered = ranked.map(({ connection }) => connection);
  return ordered.length < 2 ? ordered : closedFirst(ordered, choice);
}

/** A connection that is called by its name serves every format: its URL may be that of another API of its provider. */
function serves(connection: Connection, wanted: WantedConnection): boolean {
  if ('kind' in wanted) {
    return connection.kind === wanted.kind;
  }
  return 'connection' in wanted ? connection.name === wanted.connection : speaks(connection, wanted.format);
}

/** `isNamed` returns whether the connection has another name of the model. */
function rankOf(
  connection: LoadedConnection,
  wanted: WantedConnection,
  model: string | undefined,
  isNamed: (connection: LoadedConnection) => boolean,
): Rank | undefined {
  const { modelNames, modelPatterns } = connection;
  const { isAnyProvider, imitated, modelId } = kindOf(connection);
  const id = model === undefined ? undefined : modelId === undefined ? model : modelId(model, connection);
  const nameOf = 'format' in wanted ? imitated.get(wanted.format) : undefined;
  if (modelNames.size === 0 && modelPatterns.length === 0) {
    if (nameOf !== undefined) {
      // It serves its own models so, in preference to connections that would take any name.
      return model === undefined || nameOf(model) === undefined ? undefined : ranks.own;
    }
    // A connection without a list of models would take calls that are meant for another provider.
    const isForOthers = isAnyProvider || (model !== undefined && id === undefined);
    const isMeant =
      'connection' in wanted ||
      (!isAnyProvider && 'kind' in wanted) ||
      (model !== undefined && Object.hasOwn(connection.deploymentModels, model));
    return isForOthers && !isMeant ? undefined : ranks.every;
  }
  if (model === undefined) {
    return ranks.every;
  }
  if (modelNames.has(model)) {
    return ranks.exact;
  }
  if (isNamed(connection) || (id !== undefined && modelNames.has(id))) {
    return ranks.alias;
  }
  const isMatched = (name: string | undefined) =>
    name !== undefined && modelPatterns.some((pattern) => matchesPattern(pattern, name));
  return isMatched(model) || isMatched(id) ? ranks.pattern : undefined;
}

/** Returns the model without the prefix of a provider and without the date of its release. */
function otherNames(model: string): readonly string[] {
  const bare = withoutProviderPrefixes(model);
  return [...bare, ...[model, ...bare].flatMap((name) => withoutDateSuffix(name) ?? [])];
}

/** An exponential variate: the connection with the smallest one is first with a probability proportional to its weight. */
function weightedDraw(weight: number, { random }: CandidateChoice): number {
  return -Math.log(1 - random()) / weight;
}

/** Moves connections whose breaker is open to the end. They are not left out: the others may fail too. */
function closedFirst(ordered: readonly Connection[], { mayTry }: CandidateChoice): readonly Connection[] {
  const open = new Set<Connection>();
  for (const connection of ordered) {
    if (!mayTry(connection.id)) {
      open.add(connection);
    }
  }
  return open.size === 0
    ? ordered
    : [...ordered.filter((connection) => !open.has(connection)), ...ordered.filter((one) => open.has(one))];
}
