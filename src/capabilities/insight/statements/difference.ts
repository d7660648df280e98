/**
 * Explains the difference between what a provider billed and what was recorded for one day, model and project. The causes always
 * add up to the difference, to the nanodollar.
 */
import { roundedQuotient } from '../../../kernel/decimals.ts';
import {
  addTokens,
  type ByTokenKind,
  hasTokens,
  type LineTokens,
  noTokens,
  type StatementLine,
  subtractTokens,
  type TokenKind,
  tokenKinds,
  totalTokens,
} from './statement-line.ts';

export const differenceCauses = [
  'missing',
  'unsettled',
  'late',
  'price',
  'time_zone',
  'unknown',
  'rounding',
] as const;
export type DifferenceCause = (typeof differenceCauses)[number];

export interface LineSums {
  readonly tokens: LineTokens;
  readonly usd: bigint;
  /** The part of `usd` that is known to be for a kind of tokens. */
  readonly usdByKind: ByTokenKind;
  readonly runs: bigint;
}

export const noSums: LineSums = { tokens: noTokens, usd: 0n, usdByKind: noTokens, runs: 0n };

export function addSums(a: LineSums, b: LineSums): LineSums {
  return {
    tokens: addTokens(a.tokens, b.tokens),
    usd: a.usd + b.usd,
    usdByKind: addTokens(a.usdByKind, b.usdByKind),
    runs: a.runs + b.runs,
  };
}

export function subtractSums(a: LineSums, b: LineSums): LineSums {
  return {
    tokens: subtractTokens(a.tokens, b.tokens),
    usd: a.usd - b.usd,
    usdByKind: subtractTokens(a.usdByKind, b.usdByKind),
    runs: a.runs - b.runs,
  };
}

export type BilledLine = Pick<StatementLine, 'keyId' | 'kind' | 'tokens' | 'usdNanos'>;

/** The runs of a row, by UTC day unless it says otherwise. */
export interface Recorded {
  readonly settled: LineSums;
  /** Runs marked `unsettled`: their cost is the amount that was held. */
  readonly unsettled: LineSums;
  /** All runs of the day in the time zone of the organization. */
  readonly local: LineSums;
  /** Late runs that started on this day and were charged on another, less those that were charged on it and started on another. */
  readonly lateShift: LineSums;
  /** Corrections that earlier reconciliations posted, summed by cause and keys. They are part of `settled`. */
  readonly corrections: readonly Correction[];
}

export interface ExplainOptions {
  /** False if the statement does not count tokens. */
  readonly hasTokens: boolean;
  /** Decimals that the provider rounds amounts to. */
  readonly decimals: number;
  /** The provider's keys that the calls recorded by Purser use. Undefined: not known. */
  readonly gatewayKeyIds: ReadonlySet<string> | undefined;
}

export interface Cause {
  readonly cause: DifferenceCause;
  readonly usd: bigint;
  readonly tokens: LineTokens;
  /** For `price`: the kind of tokens whose rate differs; empty if that is not known. */
  readonly kind: TokenKind | '';
  /** For `missing`: the provider's keys that the calls may have used. */
  readonly keyIds: readonly string[];
}

/** The sums of the runs that reconciliations posted for a cause. */
export interface Correction extends Pick<Cause, 'cause' | 'kind' | 'keyIds'> {
  readonly sums: LineSums;
}

export type BilledSums = Pick<LineSums, 'tokens' | 'usd'>;

export function billedSums(lines: readonly BilledLine[]): BilledSums {
  let tokens = noTokens;
  let usd = 0n;
  for (const line of lines) {
    tokens = addTokens(tokens, line.tokens);
    usd += line.usdNanos;
  }
  return { tokens, usd };
}

/** A row while it is explained: what no cause explains yet, and the causes found so far. */
interface Row {
  readonly billed: readonly BilledLine[];
  readonly recorded: Recorded;
  readonly options: ExplainOptions;
  /** The recorded sums, without corrections. */
  readonly all: LineSums;
  readonly tolerance: bigint;
  readonly causes: Cause[];
  rest: bigint;
  unmatched: LineTokens;
}

/** Explains a part of the rest. Returns true if it has explained all of it. */
type ExplainStep = (row: Row, valueAtRates: Valuation) => boolean;

const steps: readonly ExplainStep[] = [
  explainUnusedKeys,
  explainEmpty,
  explainAmounts,
  explainLate,
  explainSurplus,
  explainTokens,
];

export function explain(
  billed: readonly BilledLine[],
  recorded: Recorded,
  options: ExplainOptions,
): readonly Cause[] {
  const { settled, unsettled, local, corrections } = recorded;
  const withCorrections = addSums(settled, unsettled);
  const { usd, tokens } = subtractSums(withCorrections, local);
  const causes: Cause[] = [{ cause: 'time_zone', usd, tokens, kind: '', keyIds: [] }];
  const total = billedSums(billed);
  if (corrections.length > 0 && total.usd === withCorrections.usd) {
    // A correction cannot have negative tokens, so the tokens of a corrected row may differ for good.
    return causes.filter(isFound);
  }
  // The causes are found as if nothing had been corrected, because late and unsettled runs remain after their correction. Then the
  // corrections are subtracted from the causes that they were posted for.
  const all = corrections.reduce((sum, { sums }) => subtractSums(sum, sums), withCorrections);
  const tolerance = toleranceOf(billed, all.runs, options.decimals);
  const unmatched = options.hasTokens ? subtractTokens(total.tokens, all.tokens) : noTokens;
  const row = { billed, recorded, options, all, tolerance, causes, rest: total.usd - all.usd, unmatched };
  if (hasTokens(unmatched) || !isRounding(row)) {
    const valueAtRates = createValuation(billed);
    steps.some((step) => step(row, valueAtRates));
  } else {
    explainBy(row, 'rounding', row.rest);
  }
  return inOrder(withoutCorrected(causes.filter(isFound), corrections));
}

/** Calls of keys that Purser does not use are missing. */
function explainUnusedKeys(row: Row, valueAtRates: Valuation): boolean {
  for (const [keyId, lines] of byKey(row.billed)) {
    if (isUsed(row, keyId)) {
      continue;
    }
    const used = billedSums(lines);
    // Less than the key has used is missing if a part was recorded, for example by an earlier reconciliation.
    const missing = row.options.hasTokens ? smallerTokens(used.tokens, row.unmatched) : noTokens;
    const isWhole = !hasTokens(subtractTokens(used.tokens, missing));
    // Costs by key are exact; without them, the tokens of the key are valued at the billed rates.
    const usd = isWhole && used.usd !== 0n ? used.usd : valueAtRates(missing);
    explainBy(row, 'missing', usd, missing, [keyId]);
  }
  return false;
}

function isUsed({ options: { gatewayKeyIds } }: Row, keyId: string): boolean {
  return keyId === '' || gatewayKeyIds === undefined || gatewayKeyIds.has(keyId);
}

/** Everything is missing from a row in which nothing was recorded. */
function explainEmpty(row: Row): boolean {
  const { all, recorded, rest, unmatched } = row;
  const isEmpty = all.runs === 0n && all.usd === 0n && !hasTokens(recorded.lateShift.tokens);
  if (isEmpty) {
    explainBy(row, 'missing', rest, unmatched, keysOf(ownLines(row)));
  }
  return isEmpty;
}

/** Explains the rest of a row as unknown if there are no tokens to decide by. */
function explainAmounts(row: Row): boolean {
  return !row.options.hasTokens && explainRest(row, 'unknown');
}

function explainLate(row: Row): boolean {
  const { usd, tokens } = row.recorded.lateShift;
  if (hasTokens(tokens) && isNearer(row.unmatched, tokens)) {
    explainBy(row, 'late', usd, tokens);
  }
  return false;
}

/** If more was recorded than billed, the rates of these tokens are not known. */
function explainSurplus(row: Row): boolean {
  const isSurplus = tokenKinds.some((kind) => row.unmatched[kind] < 0n);
  if (isSurplus) {
    explainBy(row, 'unknown', row.rest, row.unmatched);
  }
  return isSurplus;
}

/** Unmatched tokens are those of unsettled runs, or else missing. The rest is a difference in price. */
function explainTokens(row: Row, valueAtRates: Valuation): boolean {
  const { unmatched } = row;
  const { unsettled } = row.recorded;
  if (unsettled.runs > 0n) {
    const usd = valueAtRates(addTokens(unmatched, unsettled.tokens)) - unsettled.usd;
    explainBy(row, 'unsettled', usd, unmatched);
  } else if (hasTokens(unmatched)) {
    explainBy(row, 'missing', valueAtRates(unmatched), unmatched, keysWith(ownLines(row), unmatched));
  }
  explainRates(row);
  return explainRest(row, 'price');
}

/**
 * Explains the rest by single rates. For each kind, the recorded tokens are valued at the billed rate and at the recorded one. If these
 * differences add up to the rest, they are its causes; a deviation within the tolerance is added to the largest.
 */
function explainRates(row: Row): void {
  const { billed, all, rest, tolerance } = row;
  const total = billedSums(billed).tokens;
  const differences = tokenKinds
    .map((kind) => {
      const atBilledRate = share(billedForKind(billed, kind), all.tokens[kind], total[kind]);
      return { kind, usd: atBilledRate - all.usdByKind[kind] };
    })
    .filter(({ usd }) => usd > tolerance || usd < -tolerance)
    .toSorted((a, b) => (magnitude(a.usd) > magnitude(b.usd) ? -1 : 1));
  const [largest] = differences;
  const left = rest - differences.reduce((sum, { usd }) => sum + usd, 0n);
  if (largest === undefined || magnitude(left) > tolerance * BigInt(tokenKinds.length)) {
    return;
  }
  for (const { kind, usd } of differences) {
    explainBy(row, 'price', usd + (kind === largest.kind ? left : 0n), noTokens, [], kind);
  }
}

function explainRest(row: Row, cause: 'price' | 'unknown'): true {
  explainBy(row, isRounding(row) ? 'rounding' : cause, row.rest);
  return true;
}

/** Takes the amount and the tokens off the rest. */
function explainBy(
  row: Row,
  cause: DifferenceCause,
  usd: bigint,
  tokens = noTokens,
  keyIds: string[] = [],
  kind: TokenKind | '' = '',
) {
  row.causes.push({ cause, usd, tokens, kind, keyIds });
  row.rest -= usd;
  row.unmatched = subtractTokens(row.unmatched, tokens);
}

function isFound({ usd, tokens }: Cause): boolean {
  return usd !== 0n || hasTokens(tokens);
}

function isRounding({ rest, tolerance }: Row): boolean {
  return rest <= tolerance && rest >= -tolerance;
}

/** The lines of keys that the calls recorded by Purser use, or may use. */
function ownLines(row: Row): BilledLine[] {
  return row.billed.filter(({ keyId }) => isUsed(row, keyId));
}

/**
 * Subtracts each correction from the cause of the same kind and keys. If there is none, or if one of the two has no kind, it is
 * subtracted from the others of its cause: from each down to nothing, and what is left from the last.
 */
function withoutCorrected(causes: readonly Cause[], corrections: readonly Correction[]): readonly Cause[] {
  const left: Corrected[] = causes.map((cause) => ({ ...cause }));
  const others: Cause[] = [];
  for (const { cause, kind, keyIds, sums } of corrections) {
    const targets = targetsOf(left, { cause, kind, keyIds });
    const [first] = targets;
    if (first === undefined) {
      others.push({ cause, kind, keyIds, usd: -sums.usd, tokens: subtractTokens(noTokens, sums.tokens) });
      continue;
    }
    first.tokens = subtractTokens(first.tokens, sums.tokens);
    let { usd } = sums;
    for (const target of targets) {
      const part = target === targets.at(-1) ? usd : towards(target.usd, usd);
      target.usd -= part;
      usd -= part;
    }
  }
  return [...left, ...others].filter(
    ({ usd, tokens }) => usd !== 0n || tokenKinds.some((kind) => tokens[kind] > 0n),
  );
}

type Corrected = { -readonly [Field in keyof Cause]: Cause[Field] };

function targetsOf(
  causes: readonly Corrected[],
  { cause, kind, keyIds }: Omit<Correction, 'sums'>,
): Corrected[] {
  const alike = causes.filter((one) => one.cause === cause);
  const same = alike.find((one) => one.kind === kind && one.keyIds.join() === keyIds.join());
  return same === undefined ? alike.filter((one) => one.kind === '' || kind === '') : [same];
}

/** Returns as much of the amount as brings the other at most to zero. */
function towards(other: bigint, amount: bigint): bigint {
  if (other > 0n !== amount > 0n) {
    return 0n;
  }
  return magnitude(amount) < magnitude(other) ? amount : other;
}

function inOrder(causes: readonly Cause[]): readonly Cause[] {
  return causes.toSorted((a, b) => differenceCauses.indexOf(a.cause) - differenceCauses.indexOf(b.cause));
}

function byKey(lines: readonly BilledLine[]): Map<string, BilledLine[]> {
  const keys = new Map<string, BilledLine[]>();
  for (const line of lines) {
    const there = keys.get(line.keyId);
    if (there === undefined) {
      keys.set(line.keyId, [line]);
    } else {
      there.push(line);
    }
  }
  return keys;
}

type Valuation = (tokens: LineTokens) => bigint;

/**
 * Returns a function that values tokens at the rates of the row: the amount billed for a kind of tokens, divided by their number.
 * Amounts without a kind are divided by the number of all tokens.
 */
function createValuation(billed: readonly BilledLine[]): Valuation {
  const total = billedSums(billed).tokens;
  const usdByKind = tokenKinds.map((kind) => ({ kind, usd: billedForKind(billed, kind) }));
  const usdOfAll = billedForKind(billed, '');
  return (tokens) =>
    usdByKind.reduce(
      (sum, { kind, usd }) => sum + share(usd, tokens[kind], total[kind]),
      share(usdOfAll, totalTokens(tokens), totalTokens(total)),
    );
}

function billedForKind(billed: readonly BilledLine[], kind: BilledLine['kind']): bigint {
  return billed.reduce((sum, line) => (line.kind === kind ? sum + line.usdNanos : sum), 0n);
}

function share(usd: bigint, part: bigint, whole: bigint): bigint {
  return whole === 0n ? 0n : roundedQuotient(usd * part, whole);
}

/** One nanodollar per run, which is rounded up, and half of the last decimal per amount of the statement. */
function toleranceOf(billed: readonly BilledLine[], runs: bigint, decimals: number): bigint {
  const lines = BigInt(billed.filter(({ usdNanos }) => usdNanos !== 0n).length + tokenKinds.length);
  return runs + lines * (10n ** BigInt(9 - decimals) / 2n + 1n);
}

/** Returns true if fewer tokens remain unmatched after the shift. */
function isNearer(unmatched: LineTokens, shift: LineTokens): boolean {
  return distance(subtractTokens(unmatched, shift)) < distance(unmatched);
}

function distance(tokens: LineTokens): bigint {
  return tokenKinds.reduce((sum, kind) => sum + magnitude(tokens[kind]), 0n);
}

function magnitude(amount: bigint): bigint {
  return amount < 0n ? -amount : amount;
}

/** The smaller number of each kind, and none where one of them is negative. */
function smallerTokens(a: LineTokens, b: LineTokens): LineTokens {
  const smaller = (kind: TokenKind) => {
    const less = a[kind] < b[kind] ? a[kind] : b[kind];
    return less < 0n ? 0n : less;
  };
  return {
    uncached_input: smaller('uncached_input'),
    cached_input: smaller('cached_input'),
    cache_write: smaller('cache_write'),
    output: smaller('output'),
  };
}

function keysOf(lines: readonly BilledLine[]): string[] {
  return [...new Set(lines.flatMap(({ keyId }) => (keyId === '' ? [] : [keyId])))].sort();
}

/** Returns the one key that used exactly these tokens, or all keys if there is no such key. */
function keysWith(lines: readonly BilledLine[], tokens: LineTokens): string[] {
  const exact = [...byKey(lines)].filter(
    ([keyId, of]) => keyId !== '' && !hasTokens(subtractTokens(billedSums(of).tokens, tokens)),
  );
  return exact.length === 1 ? [exact[0]?.[0] ?? ''] : keysOf(lines);
}
