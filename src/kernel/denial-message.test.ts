import { expect, test } from 'vitest';
import type { Denial } from './denial.ts';
import { denialMessage } from './denial-message.ts';

function messageOf(denial: Omit<Denial, 'by'>): string | undefined {
  return denialMessage({ ...denial, by: null } as Denial);
}

const amounts = { spent_usd: '4.98', held_usd: '0.4', attempted_usd: '0.081234567' };
const period = { period_start: '2026-11-01T00:00:00Z', period_end: '2026-12-01T00:00:00Z' };

test('the message of a budget names what is used, held and needed', () => {
  const details = { budget_id: 'bud_1', scope_kind: 'org', limit_usd: '5', ...amounts, ...period } as const;
  expect(messageOf({ code: 'budget_exceeded', details })).toBe(
    'The budget of $5.00 has $4.98 used ($0.40 of it is held by requests in progress), and this request needs $0.081234567.',
  );
  expect(messageOf({ code: 'budget_exceeded', details: { ...details, reserved_usd: '0.2' } })).toMatch(
    / by requests in progress\), \$0\.20 is kept for requests in progress, and this request needs /,
  );
  expect(
    messageOf({ code: 'budget_exceeded', details: { ...details, scope_kind: 'customer', held_usd: '0' } }),
  ).toBe('The customer limit of $5.00 has $4.98 used, and this request needs $0.081234567.');
});

test('the messages of other limits name their amounts', () => {
  expect(
    messageOf({
      code: 'spend_cap_exceeded',
      details: { cap_usd: '10', ...amounts, resets_at: '2026-12-01' },
    }),
  ).toMatch(/^The daily spend cap of \$10\.00 has \$4\.98 used /);
  expect(
    messageOf({ code: 'credits_exhausted', details: { available_usd: '0', attempted_usd: '1.5' } }),
  ).toBe('The credits have $0.00 left, and this request needs $1.50.');
  expect(
    messageOf({ code: 'plan_limit_exceeded', details: { limit_kind: 'runs', limit: 100, used: 100 } }),
  ).toBe('The plan includes 100 runs a month, and 100 are used.');
  expect(
    messageOf({
      code: 'chain_budget_exceeded',
      details: { reason: 'cost', current: '0.9', attempted: '0.2', limit: '1' },
    }),
  ).toBe('The run chain has used $0.90 of $1.00, and this request needs $0.20.');
  expect(
    messageOf({
      code: 'chain_budget_exceeded',
      details: { reason: 'depth', current: 5, attempted: 6, limit: 5 },
    }),
  ).toBe('The run chain may be 5 levels deep, and this run would be at level 6.');
});
