import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { seedsOf } from '../../test/support/seeds.ts';
import { attemptedOf, inOrder, matchesPattern, patternOf, type Rule, verdictOf } from './policy.ts';

const { forAll } = seedsOf('policy');

const matches = (pattern: string, value: string) => matchesPattern(patternOf(pattern), value);

describe('wildcards', () => {
  test.each([
    ['gpt-4o', 'gpt-4o', true],
    ['gpt-4o', 'gpt-4', false],
    ['gpt-*', 'gpt-', true],
    ['gpt-*', 'xgpt-4', false],
    ['*-mini', 'gpt-4o-mini', true],
    ['*-mini', 'gpt-4o-mini2', false],
    ['*', '', true],
    ['**', 'anything', true],
    ['a*b*c', 'axxbyyc', true],
    ['a*b*c', 'acb', false],
    ['a*a', 'a', false],
    ['a*a', 'aa', true],
    ['a*bc*c', 'abc', false],
    ['a.c', 'abc', false],
    ['GPT-*', 'gpt-4', false],
  ])('match pattern %s against %s', (pattern, value, expected) => {
    expect(matches(pattern, value)).toBe(expected);
  });

  test('match the same values as the equivalent regular expression', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 8 });
    const value = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 10 });
    forAll(
      fc.property(text, value, (pattern, of) => {
        const reference = new RegExp(`^${pattern.replaceAll(/\*+/g, '[ab]*')}$`);
        return matches(pattern, of) === reference.test(of);
      }),
      { numRuns: 5_000 },
    );
  });

  test('take linear time for every pattern', () => {
    const pattern = `${'a*'.repeat(99)}b`;
    expect(matches(pattern, 'a'.repeat(200_000))).toBe(false);
  });
});

const rule = (id: string, more: Partial<Rule<number>> = {}): Rule<number> => ({
  id,
  effect: 'block',
  models: null,
  actions: null,
  condition: null,
  priority: 0n,
  reason: id,
  ...more,
});
const subject = { model: 'm', action: '' };

describe('the verdict', () => {
  test('the verdict of the rules is that of the first matching rule, and allow if none matches', () => {
    const rules = inOrder<number, Rule<number>>([
      rule('c', { priority: 5n }),
      rule('b', { priority: 1n, effect: 'allow', condition: (facts) => facts > 3 }),
      rule('a', { priority: 1n, models: [patternOf('other')] }),
    ]);
    expect(rules.map(({ id }) => id)).toEqual(['b', 'a', 'c']);
    expect(verdictOf(rules, subject, () => 4)).toMatchObject({ kind: 'allow', rule: { id: 'b' } });
    expect(verdictOf(rules, subject, () => 3)).toMatchObject({ kind: 'block', rule: { id: 'c' } });
    expect(verdictOf([], subject, () => 3)).toEqual({ kind: 'allow', rule: null });
  });

  test('the verdict of the rules is an error if and only if a condition that is evaluated fails', () => {
    const failing = rule('f', { effect: 'allow', condition: () => ({ fault: 'why' }) });
    expect(verdictOf([failing, rule('b')], subject, () => 0)).toEqual({
      kind: 'error',
      rule: failing,
      fault: 'why',
    });
    expect(verdictOf([rule('b'), failing], subject, () => 0)).toMatchObject({ kind: 'block' });
    expect(verdictOf([{ ...failing, models: [patternOf('x')] }], subject, () => 0)).toEqual({
      kind: 'allow',
      rule: null,
    });
  });

  test('computes the input only if a condition needs it', () => {
    const facts = () => {
      throw new Error('not needed');
    };
    expect(
      verdictOf([rule('a', { actions: [patternOf('x')], condition: () => true })], subject, facts),
    ).toEqual({
      kind: 'allow',
      rule: null,
    });
  });
});

test('the attempted value is the action if the rule only restricts actions', () => {
  const actions = [patternOf('a*')];
  expect(attemptedOf(rule('r', { actions }), { model: 'm', action: 'act' })).toBe('act');
  expect(attemptedOf(rule('r', { actions, models: [patternOf('m')] }), { model: 'm', action: 'act' })).toBe(
    'm',
  );
  expect(attemptedOf(rule('r', { actions: [patternOf('*')] }), subject)).toBe('m');
  expect(attemptedOf(rule('r'), { model: 'm', action: 'act' })).toBe('m');
});
