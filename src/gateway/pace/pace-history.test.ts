import { expect, test } from 'vitest';
import type { LearnedCounts } from '../learned/learned-counts.ts';
import { createPaceHistory } from './pace-history.ts';
import { documentedPace } from './rate-bounds.ts';

const subject = { orgId: 'org_1', connectionId: 'con_1', model: 'm', tier: '' };
const documented = documentedPace({ calledAt: { provider: 'anthropic', region: null } }, 'm');

function createHistory() {
  const counts = new Map<string, Int32Array>();
  const learned: Pick<LearnedCounts, 'find' | 'add'> = {
    find: (_, name) => counts.get(name),
    add(_, name, bucket, { buckets }) {
      const known = counts.get(name) ?? new Int32Array(buckets);
      known[bucket] = (known[bucket] as number) + 1;
      counts.set(name, known);
    },
  };
  const history = createPaceHistory(learned as LearnedCounts);
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
  expect(burstTokensPerSecond).toBeLessThanOrEqual(331);
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
  expect(pace().sustainedTokensPerSecond).toBeLessThanOrEqual(165);
});

test('one faster call raises the pace at once, also above the documented one', () => {
  const { end, pace } = createHistory();
  end(2_000, 1);
  expect(pace().burstTokensPerSecond).toBeGreaterThanOrEqual(6_000);
  expect(pace().sustainedTokensPerSecond).toBeGreaterThanOrEqual(2_500);
});

test('small outputs say nothing, and parallel answers count one by one', () => {
  const { end, pace } = createHistory();
  end(10, 1, 100);
  expect(pace()).toEqual(documented);
  end(120, 2, 50, 4);
  expect(pace().burstTokensPerSecond).toBeLessThanOrEqual(397);
});

test('hosts that may forward calls to the fastest providers, and models that are known to be fast, have the highest pace', () => {
  const paceAt = (provider: string | null, model: string) =>
    documentedPace({ calledAt: { provider, region: null } }, model).burstTokensPerSecond;
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
