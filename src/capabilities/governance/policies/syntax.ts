/**
 * Examines an expression's syntax tree before it is accepted: only functions that are known to be cheap, comprehensions
 * only so deep, regular expressions only on the linear engine, and a bound for what it can cost at worst.
 *
 * The language has no loop but comprehensions, so the worst case can be told from the tree: each node is a step, and what
 * stands in a comprehension is done for each item. A list is no longer than its literal or than metadata may be.
 */
import type { ASTNode } from '@marcbachmann/cel-js';
import { metadataValuesMax } from './expression-input.ts';
import { type LinearPattern, linearPattern } from './linear-matching.ts';

export const comprehensionDepthMax = 2;
/** A step is some ten nanoseconds. */
export const expressionCostMax = 50_000;
const costOfPatternStep = 20;

/** Takes the place of `matches`, which the library has on an engine that can be made to run for hours. */
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
  /** Of the first character that is wrong, counted from 0. */
  readonly position: number;
  readonly message: string;
}

export interface Examined {
  /** Names that stand for variables, or for items of a comprehension. */
  readonly names: ReadonlySet<string>;
  /** By their source; each is compiled once. */
  readonly patterns: ReadonlyMap<string, LinearPattern>;
  /** Steps at worst. */
  readonly cost: number;
}

/** Also turns each `matches` of the tree into its linear counterpart. */
export function examine(tree: ASTNode): Examined | SyntaxFault {
  const examination = new Examination();
  try {
    const cost = examination.costOf(tree, 0);
    if (cost > expressionCostMax) {
      const message = `this may take ${Math.ceil(cost)} steps, where ${expressionCostMax} are allowed`;
      return { position: 0, message };
    }
    return { names: examination.names, patterns: examination.patterns, cost };
  } catch (error) {
    if (error instanceof Found) {
      return error.fault;
    }
    throw error;
  }
}

/** Ends the walk at the first fault. */
class Found extends Error {
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
      throw new Found(node, `there is no function \`${node.args[0]}\` here`);
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
      throw new Found(node, `there is no method \`${name}\` here`);
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
      throw new Found(given ?? node, 'a pattern has to be written out as text');
    }
    const pattern = this.patterns.get(given.args) ?? linearPattern(given.args);
    if (typeof pattern === 'string') {
      throw new Found(given, pattern);
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
      throw new Found(node, `comprehensions may be nested ${comprehensionDepthMax} deep at most`);
    }
    const items = this.#itemsIn(range);
    return 1 + this.costOf(range, depth) + items * (1 + this.#costOfAll(body, depth + 1));
  }

  /** How many items at most. What is put together from lists could be any length, so it is no range. */
  #itemsIn(range: ASTNode): number {
    if (isField(range) || (range.op === 'list' && !hasAddition(range))) {
      return range.op === 'list' ? range.args.length : metadataValuesMax;
    }
    throw new Found(range, 'a comprehension goes over a list that is written out, or over a field');
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
