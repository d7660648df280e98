/**
 * CEL expressions of rules. They are parsed and type-checked when a rule is saved, compiled once, and then evaluated for every run.
 * Failures that a caller can cause at run time (a missing key, a division by zero) are returned as a value, and the run is not
 * admitted.
 */
import { Environment, ParseError, type ParseResult } from '@marcbachmann/cel-js';
import type { ConditionResult } from '../../../kernel/policy.ts';
import { type ExpressionInput, variables } from './expression-input.ts';
import { type LinearPattern, matchedTextMax } from './linear-matching.ts';
import { examine, linearMatches, type SyntaxFault } from './syntax.ts';

const limits = {
  maxAstNodes: 300,
  maxDepth: 24,
  maxListElements: 100,
  maxMapEntries: 20,
  maxCallArguments: 4,
};

/** Time after which further expensive rules of a run fail, in case steps take far longer than expected. */
const evaluationMsMax = 250;
/** Maximum cost of expressions that do not check the time, because the check would cost more than it could save. */
const unwatchedCostMax = 1_000;

export interface Compiled {
  /** Number of steps in the worst case. */
  readonly cost: number;
  evaluate(input: ExpressionInput): ConditionResult;
}

/** Patterns of the current expression by source. Evaluation is synchronous, so there is only one at a time. */
let patternsInUse: ReadonlyMap<string, LinearPattern> = new Map();

const environment = (() => {
  const made = new Environment({ limits });
  for (const [name, type] of Object.entries(variables)) {
    made.registerVariable(name, type);
  }
  return made.registerFunction(`string.${linearMatches}(string): bool`, isMatch);
})();

function isMatch(text: string, source: string): boolean {
  if (text.length > matchedTextMax) {
    throw new RangeError(`text of more than ${matchedTextMax} characters cannot be matched`);
  }
  return patternsInUse.get(source)?.isIn(text) === true;
}

export function isSyntaxFault(compiled: Compiled | SyntaxFault): compiled is SyntaxFault {
  return 'position' in compiled;
}

export function compileExpression(source: string): Compiled | SyntaxFault {
  const parsed = parse(source);
  if ('position' in parsed) {
    return parsed;
  }
  const examined = examine(parsed.ast);
  if ('position' in examined) {
    return examined;
  }
  const { valid, type, error } = parsed.check();
  if (!valid) {
    return { position: error?.range?.start ?? 0, message: error?.summary ?? 'type error' };
  }
  if (type !== 'bool') {
    return { position: 0, message: `the expression must be of type bool, not ${type}` };
  }
  const { cost, patterns } = examined;
  const readsMetadata = examined.names.has('metadata');
  return {
    cost,
    evaluate({ context, metadataFits, elapsedMs }) {
      if (readsMetadata && !metadataFits) {
        return { fault: 'the metadata of the request is too large' };
      }
      if (cost > unwatchedCostMax && elapsedMs() > evaluationMsMax) {
        return { fault: 'the rules before this one took too long' };
      }
      patternsInUse = patterns;
      try {
        const result: unknown = parsed(context);
        return typeof result === 'boolean' ? result : { fault: 'the expression did not return a bool' };
      } catch (thrown) {
        return { fault: summaryOf(thrown) };
      }
    },
  };
}

function parse(source: string): ParseResult | SyntaxFault {
  try {
    return environment.parse(source);
  } catch (error) {
    if (error instanceof ParseError) {
      return { position: error.range?.start ?? 0, message: error.summary };
    }
    throw error;
  }
}

function summaryOf(thrown: unknown): string {
  const { summary, message } = thrown as { readonly summary?: string; readonly message?: string };
  return summary ?? message ?? 'the expression failed';
}
