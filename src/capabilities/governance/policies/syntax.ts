/**
 * Checks the syntax tree of an expression before it is accepted. It only allows cheap functions, limited nesting of comprehensions,
 * regular expressions on the linear engine, and a bounded worst-case cost. The only loops of the language are comprehensions, so
 * the worst case follows from the tree: each node is a step, and the body of a comprehension runs once per item. A list is at most
 * as long as its literal, or as metadata may be.
 */
import type { ASTNode } from '@marcbachmann/cel-js';
import { metadataValuesMax } from './expression-input.ts';
import { type LinearPattern, linearPattern } from './linear-matching.ts';

export const comprehensionDepthMax = 2;
/** Maximum number of worst-case steps of an expression. A step takes about ten nanoseconds. */
export const expressionCostMax = 50_000;
const costOfPatternStep = 20;

/**
 * Name of the function that replaces `matches`. The library implements `matches` with a backtracking engine, which a pattern can
 * keep busy for hours.
 */
export const linearMatches = 'linear_matches';

const functions = new Set(['size', 'has', 'int', 'double', 'string', 'bool', 'dyn']);
const methods = new Set([
  'size',
  'startsWith',
  'endsWith',
  'contains',
  'matches',
  'lowerAscii',
  'upperAscii',
  'trim',
  'indexOf',
  'lastIndexOf',
  'substring',
]);
const comprehensions = new Set(['all', 'exists', 'exists_one', 'filter', 'map']);

export interface SyntaxFault {
  /** Index of the first invalid character. */
  readonly position: number;
  readonly message: string;
}

export interface Examined {
  /** Names of variables and of comprehension items. */
  readonly names: ReadonlySet<string>;
  /** Compiled patterns by source. */
  readonly patterns: ReadonlyMap<string, LinearPattern>;
  /** Number of steps in the worst case. */
  readonly cost: number;
}

/** Checks the tree, and replaces each `matches` in it by its linear counterpart. */
export function examine(tree: ASTNode): Examined | SyntaxFault {
  const examination = new Examination();
  try {
    const cost = examination.costOf(tree, 0);
    if (cost > expressionCostMax) {
      const message = `the expression may take ${Math.ceil(cost)} steps, the maximum is ${expressionCostMax}`;
      return { position: 0, message };
    }
    return { names: examination.names, patterns: examination.patterns, cost };
  } catch (error) {
    if (error instanceof FoundSyntaxFault) {
      return error.fault;
    }
    throw error;
  }
}

/** Thrown to stop at the first error. */
class FoundSyntaxFault extends Error {
  readonly fault: SyntaxFault;

  constructor(node: ASTNode, message: string) {
    super(message);
    this.fault = { position: node.start, message };
  }
}

class Examination {
  readonly names = new Set<string>();
  readonly patterns = new Map<string, LinearPattern>();

  costOf(node: ASTNode, depth: number): number {
    if (node.op === 'id') {
      this.names.add(node.args);
    } else if (node.op === 'call' && !functions.has(node.args[0])) {
      throw new FoundSyntaxFault(node, `there is no function \`${node.args[0]}\``);
    } else if (node.op === 'rcall') {
      return this.#costOfMethod(node, node.args, depth);
    }
    return 1 + this.#costOfAll(childrenOf(node), depth);
  }

  #costOfAll(nodes: readonly ASTNode[], depth: number): number {
    return nodes.reduce((sum, node) => sum + this.costOf(node, depth), 0);
  }

  #costOfMethod(node: ASTNode, call: [string, ASTNode, ASTNode[]], depth: number): number {
    const [name, receiver, args] = call;
    if (comprehensions.has(name)) {
      return this.#costOfComprehension(node, receiver, args, depth);
    }
    if (!methods.has(name)) {
      throw new FoundSyntaxFault(node, `there is no method \`${name}\``);
    }
    const cost = 1 + this.costOf(receiver, depth) + this.#costOfAll(args, depth);
    if (name !== 'matches') {
      return cost;
    }
    const pattern = this.#patternIn(node, args);
    call[0] = linearMatches;
    return cost + pattern.programSize * costOfPatternStep;
  }

  #patternIn(node: ASTNode, [given]: readonly ASTNode[]): LinearPattern {
    if (given?.op !== 'value' || typeof given.args !== 'string') {
      throw new FoundSyntaxFault(given ?? node, 'a pattern must be a string literal');
    }
    const pattern = this.patterns.get(given.args) ?? linearPattern(given.args);
    if (typeof pattern === 'string') {
      throw new FoundSyntaxFault(given, pattern);
    }
    this.patterns.set(given.args, pattern);
    return pattern;
  }

  #costOfComprehension(
    node: ASTNode,
    range: ASTNode,
    [, ...body]: readonly ASTNode[],
    depth: number,
  ): number {
    if (depth === comprehensionDepthMax) {
      throw new FoundSyntaxFault(node, `comprehensions can be nested at most ${comprehensionDepthMax} deep`);
    }
    const items = this.#itemsIn(range);
    return 1 + this.costOf(range, depth) + items * (1 + this.#costOfAll(body, depth + 1));
  }

  /** Returns the maximum number of items in a range. A computed list is rejected, because it could have any length. */
  #itemsIn(range: ASTNode): number {
    if (isField(range) || (range.op === 'list' && !hasAddition(range))) {
      return range.op === 'list' ? range.args.length : metadataValuesMax;
    }
    throw new FoundSyntaxFault(range, 'the range of a comprehension must be a list literal or a field');
  }
}

function isField(node: ASTNode): boolean {
  return node.op === 'id' || ((node.op === '.' || node.op === '[]') && isField(node.args[0]));
}

function hasAddition(node: ASTNode): boolean {
  return node.op === '+' || childrenOf(node).some(hasAddition);
}

function childrenOf(node: ASTNode): readonly ASTNode[] {
  switch (node.op) {
    case 'value':
    case 'id':
      return [];
    case '.':
    case '.?':
      return [node.args[0]];
    case '!_':
    case '-_':
      return [node.args];
    case 'map':
      return node.args.flat();
    case 'call':
      return node.args[1];
    case 'rcall':
      return [node.args[1], ...node.args[2]];
    default:
      return node.args;
  }
}
