import { expect, test } from 'vitest';
import { planText } from './plan-text.ts';

test('names cannot add lines to a plan, clear the screen or reverse the text', () => {
  const hostile = 'x\u001b[2J\n  No changes.\r\u009b1A\u2028\u202egpj';
  const text = planText({
    org_id: null,
    changes: [
      { action: 'delete', section: 'budgets', label: 'budget', name: hostile, id: 'b', fields: [] },
      {
        action: 'update',
        section: 'budgets',
        label: 'budget',
        name: 'Total',
        id: 'c',
        fields: [{ field: `policies[${hostile}].limit`, before: hostile, after: [hostile] }],
      },
    ],
    unchanged: 0,
    not_in_file: [{ section: 'keys', name: hostile, id: 'k' }],
    plan_digest: '',
  });
  expect(text.split('\n')).toHaveLength(5);
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u2028\u202e]/u);
  expect(text).toContain('- budget "x\\u001b[2J\\u000a  No changes.');
});
