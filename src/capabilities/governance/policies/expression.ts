/**
 * The conditions of rules, in CEL: parsed and type-checked when a rule is saved, compiled once, and then evaluated by the
 * hundred for every run. What a caller can make fail at run time (a key that is not there, a division by zero) is told as
 * a value, and the request does not pass.
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

/** Not a bound of work but of its time, where something makes a step take far longer than it should. */
const evaluationMsMax = 250;
/** Below this, looking at the clock would cost more than it could save. */
const unwatchedCostMax = 1_000;

export interface Compiled {
  /** Steps at worst. */
  readonly cost: number;
  evaluate(input: ExpressionInput): ConditionResult;
}

/** Of the expression that is being evaluated, which never pauses: its patterns by their source. */
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
    throw new RangeError(`text of more than ${matchedTextMax} characters is not searched`);
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
    return { position: error?.range?.start ?? 0, message: error?.summary ?? 'the types do not fit' };
  }
  if (type !== 'bool') {
    return { position: 0, message: `a condition is true or false, and this is of type ${type}` };
  }
  const { cost, patterns } = examined;
  const readsMetadata = examined.names.has('metadata');
  return {
    cost,
    evaluate({ context, metadataFits, elapsedMs }) {
      if (readsMetadata && !metadataFits) {
        return { fault: 'the metadata of the request is too large to be looked at' };
      }
      if (cost > unwatchedCostMax && elapsedMs() > evaluationMsMax) {
        return { fault: 'the rules before this one took too long' };
      }
      patternsInUse = patterns;
      try {
        const result: unknown = parsed(context);
        return typeof result === 'boolean' ? result : { fault: 'the expression yielded no bool' };
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
