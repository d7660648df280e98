/** The accepted expressions, and the guarantee that none of them can block the process. */
import { describe, expect, test } from 'vitest';
import { verdictOf } from '../../../kernel/policy.ts';
import { compileExpression, isSyntaxFault } from './expression.ts';
import { type ExpressionInput, expressionInputOf, type PolicyInput } from './expression-input.ts';
import { type CompiledRule, compileRules } from './rules.ts';
import { expressionCostMax } from './syntax.ts';

const attempt: PolicyInput = {
  model: 'gpt-4o',
  provider: null,
  action: 'chat',
  workflow: null,
  deployment: null,
  department: null,
  team: 'research',
  customer_id: null,
  member_id: null,
  project: null,
  key_id: 'key_1',
  role: 'member',
  costNanos: 1_500_000_000n,
  inputTokens: 10n,
  outputTokens: 20n,
  tags: { env: 'prod' },
  metadata: { list: ['a', 'b'], nested: { on: true }, text: 'x'.repeat(501) },
  atMs: Date.parse('2026-11-15T12:00:00Z'),
};

const faultOf = (source: string) => {
  const compiled = compileExpression(source);
  return isSyntaxFault(compiled) ? compiled : undefined;
};
const compile = (source: string) => {
  const compiled = compileExpression(source);
  if (isSyntaxFault(compiled)) {
    throw new Error(compiled.message);
  }
  return compiled;
};
const evaluate = (source: string, more: Partial<PolicyInput> = {}) =>
  compile(source).evaluate(expressionInputOf({ ...attempt, ...more }, 'UTC'));

describe('evaluates', () => {
  test.each([
    ['cost_usd > 1 && cost_usd < 2.0', true],
    ['model.startsWith("gpt-") && !model.endsWith("mini")', true],
    ['team in ["research", "sales"]', true],
    ['provider == ""', true],
    ['"env" in tags && tags.env == "prod"', true],
    ['has(tags.region) && tags.region == "eu"', false],
    ['metadata.nested.on == true', true],
    ['metadata.list.all(x, x.size() == 1)', true],
    ['metadata.list.filter(x, x > "a").size() == 1', true],
    ['metadata["list"].exists(x, x == "c")', false],
    ['tags.exists(name, name == "env")', true],
    ['input_tokens + output_tokens == 30', true],
    ['hour >= 9 && hour < 18 && weekday == 7', true],
    ['date < "2027-01-01"', true],
    ['model.matches("^gpt-[0-9]o?$")', true],
    ['metadata.list.exists(x, x.matches("[c-z]"))', false],
    ['role == "member" ? true : false', true],
  ])('%s', (source, expected) => {
    expect(evaluate(source)).toBe(expected);
  });
});

describe('rejects on saving, with the position', () => {
  test.each([
    ['model ==', 8, /Unexpected token/],
    ['model == "a" && foo == 1', 16, /Unknown variable: foo/],
    ['true && model + 1 == 2', 8, /no such overload/],
    ['model', 0, /must be of type bool/],
    ['metadata.flag', 0, /must be of type bool/],
    ['cost_usd', 0, /must be of type bool/],
    ['true || timestamp("2024-01-01T00:00:00Z").getHours() > 3', 8, /no method `getHours`/],
    ['b"x".json() == {}', 0, /no method `json`/],
    ['cel.bind(x, 1, x == 1)', 0, /no method `bind`/],
    ['model.split("").size() > 1', 0, /no method `split`/],
    ['duration("1h") == duration("1h")', 0, /no function `duration`/],
    ['model.linear_matches("a")', 0, /no method `linear_matches`/],
    ['model.matches(team)', 14, /must be a string literal/],
    ['model.matches("[a")', 14, /missing closing/],
    ['__proto__ == 1', 0, /Reserved/],
  ])('%s', (source, position, message) => {
    expect(faultOf(source)).toEqual({ position, message: expect.stringMatching(message) });
  });
});

describe('rejects hostile expressions on saving', () => {
  const list = (length: number) => `[${Array(length).fill('1').join()}]`;
  test.each([
    ['deep nesting', `${'('.repeat(30)}true${')'.repeat(30)}`, /maxDepth/],
    ['deep lists', `${'['.repeat(40)}${']'.repeat(40)} == []`, /maxDepth/],
    ['a long chain of fields', `metadata${'.a'.repeat(40)} == 1`, /maxDepth/],
    ['many nodes', Array(200).fill('true').join(' || '), /maxAstNodes/],
    ['a huge list', `1 in ${list(101)}`, /maxListElements/],
    [
      'three nested comprehensions',
      `${list(3)}.all(x, ${list(3)}.all(y, ${list(3)}.all(z, x + y + z > 0)))`,
      /2 deep/,
    ],
    [
      'two large nested comprehensions',
      'metadata.a.all(x, metadata.a.all(y, x == y && x != "1" && y != "2"))',
      /steps/,
    ],
    ['a computed list', 'metadata.a.map(x, metadata.a).all(y, y.size() > 0)', /must be a list literal/],
    ['concatenated lists', '[metadata.a + metadata.a].all(x, x.all(y, y > 0))', /must be a list literal/],
    ['a pattern that repeats too much', 'model.matches("(.{30}){30}")', /too large/],
    ['a pattern in a large comprehension', 'metadata.a.all(x, x.matches("[a-c]{100}"))', /steps/],
    ['many patterns', Array(30).fill('model.matches("[a-c]{100}")').join(' || '), /steps/],
  ])('%s', (_, source, message) => {
    expect(faultOf(source)?.message).toMatch(message);
  });
});

describe('the evaluation of accepted expressions is bounded', () => {
  const many = Array.from({ length: 95 }, () => 'a'.repeat(60));

  /** Evaluates with `many` as `metadata.a`, and counts how often an item is read. */
  function itemsRead(source: string): number {
    let reads = 0;
    const counted = new Proxy(many, {
      get(list, key) {
        reads += typeof key === 'string' && /^\d+$/.test(key) ? 1 : 0;
        return Reflect.get(list, key);
      },
    });
    const input = expressionInputOf({ ...attempt, metadata: { a: many } }, 'UTC');
    const context = { ...input.context, metadata: { a: counted } };
    expect(typeof compile(source).evaluate({ ...input, context })).toBe('boolean');
    return reads;
  }

  test.each([
    ['nested comprehensions', 'metadata.a.all(x, metadata.a.all(y, x == y))', 95 + 95 * 95],
    ['a search in every item', 'metadata.a.all(x, x.contains("b") == false)', 95],
    [
      'as large as may be',
      `${Array(18).fill('metadata.a.all(x, x == "a" || x != "b")').join(' && ')}`,
      18 * 95,
    ],
  ])('%s: takes at most the steps counted on saving', (_, source, reads) => {
    expect(itemsRead(source)).toBe(reads);
    expect(compile(source).cost).toBeGreaterThanOrEqual(reads);
    expect(compile(source).cost).toBeLessThanOrEqual(expressionCostMax);
  });

  test('a pattern that takes exponential time on a backtracking engine', () => {
    expect(evaluate('model.matches("(a+)+$")', { model: `${'a'.repeat(199)}!` })).toBe(false);
  });

  test.each([
    ['a missing key', 'tags.region == "eu"', /No such key: region/],
    ['a division by zero', 'input_tokens / (output_tokens - 20) > 1', /division by zero/],
    ['an overflow', 'input_tokens * 9223372036854775807 > 1', /overflow/],
    ['text that is too long to be matched', 'metadata.text.matches("x")', /500 characters/],
    ['a type mismatch', 'metadata.list > 3', /overload/],
    ['a prototype', 'metadata.constructor == 1', /No such key/],
  ])('%s is returned as a failure', (_, source, fault) => {
    expect(evaluate(source)).toEqual({ fault: expect.stringMatching(fault) });
  });
});

describe('the time limit of all rules together', () => {
  const expensive = `[${Array.from({ length: 100 }, (_, n) => n).join()}].all(a, [${Array.from({ length: 20 }, (_, n) => n).join()}].exists(b, b == 0))`;
  const evaluateAfter = (source: string, ms: number) =>
    compile(source).evaluate({ ...expressionInputOf(attempt, 'UTC'), elapsedMs: () => ms });

  test('the time limit of all rules together is 250 ms: the remaining rules fail', () => {
    expect(evaluateAfter(expensive, 250)).toBe(true);
    expect(evaluateAfter(expensive, 251)).toEqual({ fault: 'the rules before this one took too long' });
  });

  test('the time limit of all rules together is not checked for cheap expressions', () => {
    expect(evaluateAfter('true', 251)).toBe(true);
  });

  test('the time limit of all rules together starts with the first rule that is evaluated, and covers all rules', () => {
    let elapsedMs = 249;
    const facts = { ...expressionInputOf(attempt, 'UTC'), elapsedMs: () => elapsedMs };
    const slow = () => {
      // Simulates a step that takes far longer than expected.
      elapsedMs += 11;
      return false;
    };
    const [rule] = compileRules([
      {
        id: 'b',
        version: 1n,
        effect: 'allow',
        models: null,
        actions: null,
        expression: expensive,
        priority: 2n,
        reason: '',
      },
    ]);
    const rules = [{ ...(rule as CompiledRule), id: 'a', condition: slow }, rule as CompiledRule];
    const subject = { model: 'gpt-4o', action: '' };
    expect(verdictOf<ExpressionInput, CompiledRule>(rules, subject, () => facts)).toMatchObject({
      kind: 'error',
      rule: { id: 'b' },
      fault: 'the rules before this one took too long',
    });
  });
});
