/**
 * Policies: an org's rules on models and actions. The first matching rule by priority decides; if none matches, the
 * request is allowed. The conditions of rules are opaque here.
 */
export const effects = ['allow', 'block', 'require_approval'] as const;
export type Effect = (typeof effects)[number];

/** The result of a condition, or the error of its evaluation. */
export type ConditionResult = boolean | ConditionError;
export interface ConditionError {
  readonly fault: string;
}

export interface Rule<Input> {
  readonly id: string;
  readonly effect: Effect;
  /** At least one pattern must match; null: no restriction. */
  readonly models: readonly Pattern[] | null;
  readonly actions: readonly Pattern[] | null;
  /** Null: no condition beyond the patterns. */
  readonly condition: ((input: Input) => ConditionResult) | null;
  /** Lowest number first; equal priorities in the order of creation. */
  readonly priority: bigint;
  readonly reason: string;
}

/** The values that patterns are matched against. The action is empty if the request has none. */
export interface Subject {
  readonly model: string;
  readonly action: string;
}

/**
 * A pattern in which each `*` matches any number of characters. Split once, because it is matched for every
 * request.
 */
export interface Pattern {
  readonly source: string;
  /** The text before, between and after the wildcards; a single part: no wildcard. */
  readonly parts: readonly string[];
}

export function patternOf(source: string): Pattern {
  return { source, parts: source.split(/\*+/) };
}

/** Matches each part once without backtracking, so no pattern is slow. */
export function matchesPattern({ parts }: Pattern, value: string): boolean {
  const first = parts[0] as string;
  const last = parts[parts.length - 1] as string;
  if (parts.length === 1) {
    return value === first;
  }
  const end = value.length - last.length;
  if (end < first.length || !value.startsWith(first) || !value.endsWith(last)) {
    return false;
  }
  let at = first.length;
  for (let i = 1; i < parts.length - 1; i += 1) {
    const part = parts[i] as string;
    const found = value.indexOf(part, at);
    if (found === -1 || found + part.length > end) {
      return false;
    }
    at = found + part.length;
  }
  return true;
}

function matchesAny(patterns: readonly Pattern[] | null, value: string): boolean {
  if (patterns === null) {
    return true;
  }
  for (let i = 0; i < patterns.length; i += 1) {
    if (matchesPattern(patterns[i] as Pattern, value)) {
      return true;
    }
  }
  return false;
}

/** Sorts rules by priority. The sort is stable: rules with equal priority keep their order of creation. */
export function inOrder<Input, Kind extends Rule<Input>>(rules: readonly Kind[]): Kind[] {
  return [...rules].sort((a, b) => (a.priority === b.priority ? 0 : a.priority < b.priority ? -1 : 1));
}

/** The result of a rule: `decided`, or the reason why it did not match. */
export type RuleOutcome = 'decided' | 'model' | 'action' | 'expression' | ConditionError;

export function evaluateRule<Input>(rule: Rule<Input>, subject: Subject, input: () => Input): RuleOutcome {
  if (!matchesAny(rule.models, subject.model)) {
    return 'model';
  }
  if (!matchesAny(rule.actions, subject.action)) {
    return 'action';
  }
  if (rule.condition === null) {
    return 'decided';
  }
  const result = rule.condition(input());
  return typeof result === 'boolean' ? (result ? 'decided' : 'expression') : result;
}

export type RuleVerdict<Kind> =
  | { readonly kind: 'allow'; readonly rule: Kind | null }
  | { readonly kind: 'block' | 'require_approval'; readonly rule: Kind }
  /** The condition of this rule failed, so it is unknown whether the rule matches, and the request must not pass. */
  | { readonly kind: 'error'; readonly rule: Kind; readonly fault: string };

/**
 * Returns the verdict of the first matching rule. `rules` must be sorted; `input` is only called if a condition
 * needs it.
 */
export function verdictOf<Input, Kind extends Rule<Input>>(
  rules: readonly Kind[],
  subject: Subject,
  input: () => Input,
): RuleVerdict<Kind> {
  for (const rule of rules) {
    const outcome = evaluateRule(rule, subject, input);
    if (outcome === 'decided') {
      return { kind: rule.effect, rule };
    }
    if (typeof outcome === 'object') {
      return { kind: 'error', rule, fault: outcome.fault };
    }
  }
  return { kind: 'allow', rule: null };
}

/**
 * Returns the attempted value that a rule is about: the action if the rule only restricts actions, the model
 * otherwise.
 */
export function attemptedOf<Input>(rule: Rule<Input>, { model, action }: Subject): string {
  return rule.models === null && rule.actions !== null && action !== '' ? action : model;
}
