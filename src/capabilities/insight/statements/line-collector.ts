/** Collects the lines of a file, adds up equal ones, and knows their period. */
import { invalidField } from '../../../contract/api-error.ts';
import { maxNanos } from '../../../kernel/money.ts';
import { addTokens, type ParsedStatement, type StatementLine, totalTokens } from './statement-line.ts';
import { countsTokens, hasAmounts, type StatementSource } from './statement-source.ts';

export const linesMax = 200_000;
const daysMax = 366;
const dayMs = 86_400_000;
/** Responses have tokens as JSON numbers. */
const tokensMax = BigInt(Number.MAX_SAFE_INTEGER);

/** An amount of the file in nanodollars, with the number of decimals that it had in dollars. */
export interface BilledAmount {
  readonly nanos: bigint;
  readonly decimals: number;
}

export class LineCollector {
  readonly #lines = new Map<string, StatementLine>();
  readonly #sources = new Set<StatementSource>();
  readonly #nowMs: number;
  #startMs = Number.POSITIVE_INFINITY;
  #endMs = 0;
  /** Amounts have cents at least. */
  #decimals = 2;
  #hasTokens = false;
  /** Sums of the amounts and tokens, each taken as positive. */
  #nanos = 0n;
  #tokens = 0n;

  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  /** Adds a time bucket to the period, and returns its UTC day. A bucket must lie within one day. */
  bucket(field: string, startMs: number, endMs: number): string {
    const startOfDay = Math.floor(startMs / dayMs) * dayMs;
    if (endMs <= startMs || endMs > startOfDay + dayMs) {
      throw invalidField(
        field,
        'out_of_range',
        'The time bucket must end after its start, within one UTC day.',
      );
    }
    if (startMs > this.#nowMs) {
      throw invalidField(field, 'out_of_range', 'The time bucket starts in the future.');
    }
    this.#startMs = Math.min(this.#startMs, startOfDay);
    this.#endMs = Math.max(this.#endMs, startOfDay + dayMs);
    if (this.#endMs - this.#startMs > daysMax * dayMs) {
      throw invalidField(field, 'out_of_range', `A statement covers at most ${daysMax} days.`);
    }
    return dayOf(startOfDay);
  }

  /** Adds a time bucket without results to the period. Exports of a running month also have those that are still to come. */
  emptyBucket(field: string, startMs: number, endMs: number): void {
    if (startMs <= this.#nowMs) {
      this.bucket(field, startMs, endMs);
    }
  }

  addSource(source: StatementSource): void {
    this.#sources.add(source);
    this.#hasTokens ||= countsTokens(source);
  }

  /** Records that lines of the file count tokens. */
  foundTokens(): void {
    this.#hasTokens = true;
  }

  add(field: string, line: Omit<StatementLine, 'usdNanos'>, amount?: BilledAmount): void {
    this.#decimals = Math.max(this.#decimals, amount?.decimals ?? 0);
    const nanos = amount?.nanos ?? 0n;
    this.#nanos += nanos < 0n ? -nanos : nanos;
    const tokensOfLine = totalTokens(line.tokens);
    this.#tokens += tokensOfLine < 0n ? -tokensOfLine : tokensOfLine;
    if (this.#nanos > maxNanos || this.#tokens > tokensMax) {
      throw invalidField(
        field,
        'out_of_range',
        'The amounts or tokens of the statement add up to more than can be stored.',
      );
    }
    const key = JSON.stringify([line.day, line.model, line.project, line.keyId, line.kind]);
    const there = this.#lines.get(key);
    const usdNanos = (there?.usdNanos ?? 0n) + nanos;
    const tokens = there === undefined ? line.tokens : addTokens(there.tokens, line.tokens);
    this.#lines.set(key, { ...line, tokens, usdNanos });
    if (this.#lines.size > linesMax) {
      throw invalidField(field, 'too_many', `A statement has at most ${linesMax} different lines.`);
    }
  }

  finish(provider: string, field: string): ParsedStatement {
    const sources = [...this.#sources].sort();
    if (sources.length > 0 && !sources.some(hasAmounts)) {
      throw invalidField(
        field,
        'required',
        'The costs are missing. A usage report has no amounts to compare.',
      );
    }
    if (this.#lines.size === 0) {
      throw invalidField(field, 'empty', 'The statement has no lines.');
    }
    return {
      provider,
      sources,
      periodStart: dayOf(this.#startMs),
      periodEnd: dayOf(this.#endMs),
      lines: [...this.#lines.values()],
      hasTokens: this.#hasTokens,
      decimals: this.#decimals,
    };
  }
}

export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
