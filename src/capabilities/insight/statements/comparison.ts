/** Compares the lines of a statement with the recorded usage, by UTC day, model and project. */
import type { Queryable } from '../../../platform/db/database.ts';
import { findTimezone } from '../usage/index.ts';
import {
  addSums,
  type BilledLine,
  type BilledSums,
  billedSums,
  type Cause,
  type Correction,
  explain,
  type LineSums,
  noSums,
} from './difference.ts';
import { matchingName } from './model-names.ts';
import { providerLabel } from './provider-names.ts';
import { readLines, type StatementRow } from './queries.ts';
import {
  type CorrectionGroup,
  type RecordedGroup,
  type RecordedGroups,
  readRecorded,
  sumBy,
} from './recorded.ts';
import { hasTokens, type StatementLine } from './statement-line.ts';

export interface ComparedRow {
  /** Identifies the row in the statement; rows are sorted by it. */
  readonly key: string;
  readonly day: string;
  /** The model as billed, or as recorded if it was not billed. */
  readonly model: string;
  /** The name that the runs of the row have; undefined if there are none. */
  readonly recordedModel: string | undefined;
  readonly project: string;
  readonly billed: BilledSums;
  /** The runs of the day in the time zone of the organization, as in usage reports. */
  readonly recorded: LineSums;
  /** False if the statement does not count the tokens that it bills in this row. */
  readonly countsTokens: boolean;
  readonly causes: readonly Cause[];
}

export interface Comparison {
  readonly timezone: string;
  readonly rows: readonly ComparedRow[];
  /** The providers of runs of the billed models, if no run of the period has that of the statement. */
  readonly otherProviders: readonly string[];
}

export async function compareStatement(db: Queryable, statement: StatementRow): Promise<Comparison> {
  const timezone = await findTimezone(db, statement.org_id);
  const lines = await readLines(db, statement.org_id, statement.id);
  const recorded = await readRecorded(db, {
    orgId: statement.org_id,
    timezone,
    periodStart: statement.period_start,
    periodEnd: statement.period_end,
    projectDimension: statement.project_dimension,
  });
  return { timezone, ...compareRows(statement, lines, recorded) };
}

interface BilledRow {
  readonly model: string;
  readonly lines: BilledLine[];
}

function compareRows(
  statement: StatementRow,
  lines: readonly StatementLine[],
  recorded: RecordedGroups,
): Omit<Comparison, 'timezone'> {
  const billed = new Map<string, BilledRow>();
  const billedNames = new Set<string>();
  for (const line of lines) {
    const name = matchingName(line.model);
    billedNames.add(name);
    const key = rowKey(line.day, name, statement.project_dimension === null ? '' : line.project);
    const there = billed.get(key);
    if (there === undefined) {
      billed.set(key, { model: line.model, lines: [line] });
    } else {
      there.lines.push(line);
    }
  }
  // Runs without a provider are compared if the statement bills their model.
  const isBilled = ({ model }: RecordedGroup) => billedNames.has(matchingName(model));
  const label = providerLabel(statement.provider);
  const isCompared = (group: RecordedGroup) =>
    group.provider === '' ? isBilled(group) : providerLabel(group.provider) === label;
  const keyOf = ({ day, model, project }: RecordedGroup) => rowKey(day, matchingName(model), project);
  const sums = (groups: readonly RecordedGroup[]) => sumBy(groups.filter(isCompared), keyOf);
  const settled = sums(recorded.settled);
  const unsettled = sums(recorded.unsettled);
  const local = recorded.local && sums(recorded.local);
  const lateShifts = sums(recorded.lateShifts);
  const corrections = correctionsByKey(recorded.corrections.filter(isCompared), keyOf);
  const groups = [...recorded.settled, ...recorded.unsettled];
  const compared = groups.filter(isCompared);
  const recordedModels = modelsByKey(compared, keyOf);
  const otherProviders = compared.length > 0 ? [] : groups.filter(isBilled).map(({ provider }) => provider);

  const options = {
    decimals: statement.decimals,
    gatewayKeyIds: statement.gateway_key_ids === null ? undefined : new Set(statement.gateway_key_ids),
  };
  const keys = new Set([...billed.keys(), ...settled.keys(), ...unsettled.keys(), ...(local?.keys() ?? [])]);
  const rows = [...keys].sort().map((key): ComparedRow => {
    const [day, name, project] = JSON.parse(key) as [string, string, string];
    const of = (map: ReadonlyMap<string, LineSums>) => map.get(key) ?? noSums;
    const utc = addSums(of(settled), of(unsettled));
    const ofLocalDay = local === undefined ? utc : of(local);
    const billedLines = billed.get(key)?.lines ?? [];
    const recordedModel = recordedModels.get(key);
    const sumsOfLines = billedSums(billedLines);
    // Reports of tokens may cover some of the models only.
    const countsTokens = statement.has_tokens && (sumsOfLines.usd === 0n || hasTokens(sumsOfLines.tokens));
    return {
      key,
      day,
      project,
      model: billed.get(key)?.model ?? recordedModel ?? name,
      recordedModel,
      billed: sumsOfLines,
      countsTokens,
      recorded: ofLocalDay,
      causes: explain(
        billedLines,
        {
          settled: of(settled),
          unsettled: of(unsettled),
          local: ofLocalDay,
          lateShift: of(lateShifts),
          corrections: corrections.get(key) ?? [],
        },
        { ...options, hasTokens: countsTokens },
      ),
    };
  });
  return { rows, otherProviders: [...new Set(otherProviders)].sort() };
}

function rowKey(day: string, name: string, project: string): string {
  return JSON.stringify([day, name, project]);
}

/** Returns the most used name of each row's runs. */
function modelsByKey(
  groups: readonly RecordedGroup[],
  keyOf: (group: RecordedGroup) => string,
): ReadonlyMap<string, string> {
  const most = new Map<string, { readonly model: string; readonly runs: bigint }>();
  for (const group of groups) {
    const there = most.get(keyOf(group));
    if (there === undefined || there.runs < group.sums.runs) {
      most.set(keyOf(group), { model: group.model, runs: group.sums.runs });
    }
  }
  return new Map([...most].map(([key, { model }]) => [key, model]));
}

/** Adds up the corrections of each row that have the same cause and keys. */
function correctionsByKey(
  groups: readonly CorrectionGroup[],
  keyOf: (group: RecordedGroup) => string,
): ReadonlyMap<string, readonly Correction[]> {
  const byKey = new Map<string, Map<string, Correction>>();
  for (const group of groups) {
    const { cause, kind, keyIds, sums } = group;
    const ofRow = byKey.get(keyOf(group)) ?? new Map<string, Correction>();
    const name = JSON.stringify([cause, kind, keyIds]);
    const there = ofRow.get(name)?.sums ?? noSums;
    byKey.set(keyOf(group), ofRow.set(name, { cause, kind, keyIds, sums: addSums(there, sums) }));
  }
  return new Map([...byKey].map(([key, ofRow]) => [key, [...ofRow.values()]]));
}
