import { describe, expect, test } from 'vitest';
import { customers, measuredModels, workflows } from './company.ts';
import { type DemoRun, history } from './history.ts';

const now = new Date('2026-11-13T18:30:00.000Z');
const runsOf = (seed: number, runs = 6_000): DemoRun[] => [...history({ seed, now, days: 60, runs })];

describe('the history of the demo', () => {
  const runs = runsOf(7);

  test('the history of the demo has as many runs as asked for, oldest first, each once, none from the future', () => {
    expect(runs).toHaveLength(6_000);
    expect(new Set(runs.map(({ external_id }) => external_id)).size).toBe(6_000);
    const times = runs.map(({ started_at }) => Date.parse(started_at));
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(times[0]).toBeGreaterThan(now.getTime() - 61 * 86_400_000);
    expect(runs.every(({ finished_at }) => Date.parse(finished_at) <= now.getTime())).toBe(true);
  });

  test('the history of the demo is the same for the same seed, and another for another', () => {
    expect(runsOf(7)).toEqual(runs);
    expect(runsOf(8)).not.toEqual(runs);
  });

  test('the history of the demo is busier on working days, and grows', () => {
    const perDay = (isMeant: (day: number) => boolean) =>
      runs.filter(({ started_at }) => isMeant(new Date(started_at).getUTCDay())).length;
    expect(perDay((day) => day % 6 !== 0) / 5).toBeGreaterThan((2 * perDay((day) => day % 6 === 0)) / 2);
    const middleMs = now.getTime() - 30 * 86_400_000;
    const later = runs.filter(({ started_at }) => Date.parse(started_at) > middleMs).length;
    expect(later).toBeGreaterThan(runs.length * 0.52);
  });

  test('uses every workflow, model and the large customers, and some runs fail', () => {
    const seen = (pick: (run: DemoRun) => string | undefined) => new Set(runs.map(pick));
    expect(seen(({ workflow }) => workflow)).toEqual(new Set(workflows.map(({ name }) => name)));
    expect(seen(({ model }) => model)).toEqual(new Set(measuredModels));
    expect(seen(({ customer_id }) => customer_id)).toContain(customers[0]?.id);
    expect(seen(({ status }) => status)).toEqual(new Set(['succeeded', 'failed', 'cancelled']));
    expect(runs.every(({ input_tokens, cached_input_tokens }) => cached_input_tokens <= input_tokens)).toBe(
      true,
    );
  });
});
