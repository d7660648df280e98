/** A line of a provider's statement, in the terms of Purser. */
import type { StatementSource } from './statement-source.ts';

/** Kinds of tokens that providers price separately. Unlike the `input_tokens` of a run, they do not overlap. */
export const tokenKinds = ['uncached_input', 'cached_input', 'cache_write', 'output'] as const;
export type TokenKind = (typeof tokenKinds)[number];

/** Numbers of tokens, or amounts, by kind. */
export type ByTokenKind = Readonly<Record<TokenKind, bigint>>;
export type LineTokens = ByTokenKind;

export const noTokens: LineTokens = { uncached_input: 0n, cached_input: 0n, cache_write: 0n, output: 0n };

export function addTokens(a: LineTokens, b: LineTokens): LineTokens {
  return eachKind((kind) => a[kind] + b[kind]);
}

export function subtractTokens(a: LineTokens, b: LineTokens): LineTokens {
  return eachKind((kind) => a[kind] - b[kind]);
}

export function totalTokens(tokens: LineTokens): bigint {
  return tokens.uncached_input + tokens.cached_input + tokens.cache_write + tokens.output;
}

export function hasTokens(tokens: LineTokens): boolean {
  return tokenKinds.some((kind) => tokens[kind] !== 0n);
}

function eachKind(value: (kind: TokenKind) => bigint): LineTokens {
  return {
    uncached_input: value('uncached_input'),
    cached_input: value('cached_input'),
    cache_write: value('cache_write'),
    output: value('output'),
  };
}

export interface StatementLine {
  /** UTC day, as `YYYY-MM-DD`. */
  readonly day: string;
  /** The model as billed, or the name of another charge. */
  readonly model: string;
  /** Project or workspace; empty: none. */
  readonly project: string;
  /** The provider's id of its API key; empty: not named. */
  readonly keyId: string;
  /** The kind of tokens that the amount is for; empty: several or unknown. */
  readonly kind: TokenKind | '';
  readonly tokens: LineTokens;
  readonly usdNanos: bigint;
}

/** The content of a file. */
export interface ParsedStatement {
  readonly provider: string;
  readonly sources: readonly StatementSource[];
  /** UTC days; the end is exclusive. */
  readonly periodStart: string;
  readonly periodEnd: string;
  readonly lines: readonly StatementLine[];
  /** False if the file has no token counts: only amounts are compared. */
  readonly hasTokens: boolean;
  /** The most decimals of an amount in dollars. */
  readonly decimals: number;
}

const kindWords: readonly (readonly [RegExp, TokenKind])[] = [
  [/un-?cached|non-?cached|no[ _-]?cache/i, 'uncached_input'],
  [/cache[ _.-]*(write|creation)|ephemeral/i, 'cache_write'],
  [/cache/i, 'cached_input'],
  [/output|completion/i, 'output'],
  [/input|prompt/i, 'uncached_input'],
];

/** Returns the kind of tokens that a description such as `gpt-4o, cached input` names. */
export function kindIn(text: string): TokenKind | '' {
  return kindWords.find(([words]) => words.test(text))?.[1] ?? '';
}
