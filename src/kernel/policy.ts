/**
 * Policies: an org's rules on models and actions, and which of them decides about a request. The first that matches, by
 * priority, does; where none matches the request is allowed. What a rule's condition is made of is not known here.
 */
export const effects = ['allow', 'block', 'require_approval'] as const;
export type Effect = (typeof effects)[number];

/** True, false, or why it could not be told. */
export type ConditionResult = boolean | ConditionError;
export interface ConditionError {
  readonly fault: string;
}

export interface Rule<Facts> {
  readonly id: string;
  readonly effect: Effect;
  /** Patterns, of which one has to match; null: any will do. */
  readonly models: readonly Pattern[] | null;
  readonly actions: readonly Pattern[] | null;
  /** Null: no condition beyond the patterns. */
  readonly condition: ((facts: Facts) => ConditionResult) | null;
  /** The lowest number first; among equals the one that was made first. */
  readonly priority: bigint;
  readonly reason: string;
}

/** What a rule's patterns are held against. A request without an action has an empty one. */
export interface Subject {
  readonly model: string;
  readonly action: string;
}

/** Text in which each `*` stands for any characters, also none. Split once, since it is matched for every request. */
export interface Pattern {
  readonly source: string;
  /** What stands before, between and after the wildcards; a single one: no wildcard. */
  readonly parts: readonly string[];
}

export function patternOf(source: string): Pattern {
  return { source, parts: source.split(/\*+/) };
}

/** Looks at each part once and never goes back, so no pattern is slow. */
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

/** Given in the order in which they were made, which is kept among equals. */
export function inOrder<Facts, Kind extends Rule<Facts>>(rules: readonly Kind[]): Kind[] {
  return [...rules].sort((a, b) => (a.priority === b.priority ? 0 : a.priority < b.priority ? -1 : 1));
}

/** What a rule says about a request: it decides, or why it does not. */
export type RuleOutcome = 'decided' | 'model' | 'action' | 'expression' | ConditionError;

export function evaluateRule<Facts>(rule: Rule<Facts>, subject: Subject, facts: () => Facts): RuleOutcome {
  if (!matchesAny(rule.models, subject.model)) {
    return 'model';
  }
  if (!matchesAny(rule.actions, subject.action)) {
    return 'action';
  }
  if (rule.condition === null) {
    return 'decided';
  }
  const result = rule.condition(facts());
  return typeof result === 'boolean' ? (result ? 'decided' : 'expression') : result;
}

export type Verdict<Kind> =
  | { readonly kind: 'allow'; readonly rule: Kind | null }
  | { readonly kind: 'block' | 'require_approval'; readonly rule: Kind }
  /** Nobody can tell whether this rule would have decided, so the request must not pass. */
  | { readonly kind: 'error'; readonly rule: Kind; readonly fault: string };

/** `rules` are in order. `facts` is asked for once, and only if a condition needs it. */
export function verdictOf<Facts, Kind extends Rule<Facts>>(
  rules: readonly Kind[],
  subject: Subject,
  facts: () => Facts,
): Verdict<Kind> {
  for (const rule of rules) {
    const outcome = evaluateRule(rule, subject, facts);
    if (outcome === 'decided') {
      return { kind: rule.effect, rule };
    }
    if (typeof outcome === 'object') {
      return { kind: 'error', rule, fault: outcome.fault };
    }
  }
  return { kind: 'allow', rule: null };
}

/** What was attempted, as a rule sees it: the action where it is only about actions, the model otherwise. */
export function attemptedOf<Facts>(rule: Rule<Facts>, { model, action }: Subject): string {
  return rule.models === null && rule.actions !== null && action !== '' ? action : model;
}
