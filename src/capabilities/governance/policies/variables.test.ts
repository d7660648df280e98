import { expect, test } from 'vitest';
import { compileExpression, isSyntaxFault } from './expression.ts';
import { expressionInputOf, variables } from './expression-input.ts';
import { variableViews } from './variables.ts';

const input = expressionInputOf(
  {
    model: 'gpt-4o',
    provider: null,
    action: null,
    workflow: null,
    deployment: null,
    department: null,
    team: null,
    customer_id: null,
    member_id: null,
    project: null,
    key_id: 'key_1',
    role: 'member',
    costNanos: 0n,
    inputTokens: 0n,
    outputTokens: 0n,
    tags: null,
    metadata: null,
    atMs: 0,
  },
  'UTC',
);

test.each(variableViews())(
  'the example of $name can be used as it is, alone and in a larger condition',
  (variable) => {
    for (const source of [
      variable.example,
      `(${variable.example}) && (model == "x" || ${variable.example})`,
    ]) {
      const compiled = compileExpression(source);
      if (isSyntaxFault(compiled)) {
        throw new Error(`${source}: ${compiled.message}`);
      }
      expect(typeof compiled.evaluate(input), source).toBe('boolean');
    }
    expect(variable.example).toContain(variable.name);
  },
);

test('every variable is explained', () => {
  expect(variableViews().map(({ name }) => name)).toEqual(Object.keys(variables));
});
