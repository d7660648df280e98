import { expect, test } from 'vitest';
import { documentedPace } from '../kernel/documented-pace.ts';
import type { CallCounts } from './call-counts.ts';
import { createPaceHistory } from './pace-history.ts';

const subject = { orgId: 'org_1', connectionId: 'con_1', model: 'm', tier: '' };
const documented = documentedPace('anthropic', 'm');

function createHistory() {
  const counts = new Map<string, Int32Array>();
  const learned: CallCounts = {
    find: (_, name) => counts.get(name),
    add(_, name, bucket, { buckets }) {
      const known = counts.get(name) ?? new Int32Array(buckets);
      known[bucket] = (known[bucket] as number) + 1;
      counts.set(name, known);
    },
  };
  let nowMs = Date.parse('2026-11-19T12:00:00Z');
  const history = createPaceHistory(learned, () => nowMs);
  return {
    end: (perSecond: number, seconds: number, times = 1, answers = 1) => {
      for (let time = 0; time < times; time += 1) {
        history.learn(subject, {
          outputTokens: perSecond * seconds * answers,
          elapsedMs: seconds * 1_000,
          answers,
        });
      }
    },
    pass: (days: number) => {
      nowMs += days * 86_400_000;
    },
    pace: (tier = '') => history.paceOf({ ...subject, tier }, documented),
  };
}

test('the documented pace holds until enough calls have ended, then three times the fastest', () => {
  const { end, pace } = createHistory();
  end(60, 2, 49);
  expect(pace()).toEqual(documented);
  end(100, 2);
  const { burstTokensPerSecond, burstTokens, sustainedTokensPerSecond } = pace();
  expect(burstTokensPerSecond).toBeGreaterThanOrEqual(300);
  expect(burstTokensPerSecond).toBeLessThanOrEqual(310);
  expect([burstTokens, sustainedTokensPerSecond]).toEqual([2 * burstTokensPerSecond, burstTokensPerSecond]);
  // A tier has a pace of its own.
  expect(pace('priority')).toEqual(documented);
});

test('long calls lower the sustained rate, which stays above the fastest call', () => {
  const { end, pace } = createHistory();
  end(150, 2, 50);
  end(100, 12, 20);
  expect(pace().burstTokensPerSecond).toBeGreaterThanOrEqual(450);
  expect(pace().sustainedTokensPerSecond).toBeGreaterThanOrEqual(150);
  expect(pace().sustainedTokensPerSecond).toBeLessThanOrEqual(155);
});

test('one faster call raises the pace at once, also above the documented one', () => {
  const { end, pace } = createHistory();
  end(2_000, 1);
  expect(pace().burstTokensPerSecond).toBeGreaterThanOrEqual(6_000);
  expect(pace().sustainedTokensPerSecond).toBeGreaterThanOrEqual(2_500);
});

test('a call that was faster than all others is forgotten within a week, and the others with it if no more follow', () => {
  const { end, pace, pass } = createHistory();
  end(2_000, 1);
  for (let day = 0; day < 7; day += 1) {
    end(100, 12, 20);
    pass(1);
  }
  expect(pace().burstTokensPerSecond).toBeLessThanOrEqual(310);
  expect(pace().sustainedTokensPerSecond).toBeLessThanOrEqual(150);
  pass(7);
  expect(pace()).toEqual(documented);
});

test('small outputs say nothing, and parallel answers count one by one', () => {
  const { end, pace } = createHistory();
  end(10, 1, 100);
  expect(pace()).toEqual(documented);
  end(120, 2, 50, 4);
  expect(pace().burstTokensPerSecond).toBeLessThanOrEqual(371);
});

test('hosts that may forward calls to the fastest providers, and models that are known to be fast, have the highest pace', () => {
  const paceAt = (provider: string | null, model: string) =>
    documentedPace(provider, model).burstTokensPerSecond;
  expect(paceAt('anthropic', 'claude-test')).toBeLessThan(paceAt(null, 'any'));
  expect(paceAt('cerebras', 'any')).toBe(paceAt(null, 'any'));
  expect(paceAt('openai', 'gpt-5.3-codex-spark')).toBe(paceAt(null, 'any'));
});

test('calls that waited for long before a small output do not lower the pace below that of usual models', () => {
  const { end, pace } = createHistory();
  // Prompts of 100,000 tokens: a minute of waiting, and then 60 tokens.
  end(1, 60, 200);
  expect(pace().burstTokensPerSecond).toBeGreaterThanOrEqual(300);
  expect(pace().sustainedTokensPerSecond).toBeGreaterThanOrEqual(150);
});

test('long calls do not lower the sustained rate below the fastest rate seen', () => {
  const { end, pace } = createHistory();
  end(250, 4, 50);
  // Half a minute of waiting, and then 1,500 tokens.
  end(40, 38, 50);
  expect(pace().sustainedTokensPerSecond).toBeGreaterThanOrEqual(250);
});
