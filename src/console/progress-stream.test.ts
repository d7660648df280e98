import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { html, render } from './html.ts';
import { firstStep, followProgress, untilDone } from './progress-stream.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const step = (done: number) => ({ done, of: 9, unit: 'runs' as const });

test('a fast operation has no progress steps', async () => {
  const following = followProgress();
  following.report(step(1));
  expect(await firstStep(Promise.resolve('the answer'), following)).toBeUndefined();
});

test('a slow operation starts with its latest step', async () => {
  const following = followProgress();
  const first = firstStep(new Promise(() => {}), following);
  following.report(step(1));
  following.report(step(2));
  await vi.advanceTimersByTimeAsync(400);
  expect(await first).toEqual(step(2));
});

test('steps are sent until the result, and the last one is repeated while nothing changes', async () => {
  const following = followProgress();
  let answered: (answer: string) => void = () => {};
  const answer = new Promise<string>((resolve) => {
    answered = resolve;
  });
  const shown = (text: string) => html`<b>${text}</b>`;
  const pieces = untilDone({ title: 'Work', first: step(1), following, answer, shown });
  const next = async () => render((await pieces.next()).value as ReturnType<typeof shown>);
  expect(await next()).toContain('<h1>Work</h1>');
  expect(await next()).toContain('1 of 9 runs');

  const second = next();
  following.report(step(2));
  await vi.advanceTimersByTimeAsync(500);
  expect(await second).toContain('2 of 9 runs');

  const again = next();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await again).toContain('2 of 9 runs');

  const end = next();
  answered('42');
  expect(await end).toBe('</section><b>42</b>');
  expect((await pieces.next()).done).toBe(true);
});

test('a failing operation aborts the page', async () => {
  const answer = Promise.reject(new Error('broken'));
  const pieces = untilDone({
    title: '',
    first: step(1),
    following: followProgress(),
    answer,
    shown: () => html``,
  });
  await pieces.next();
  await pieces.next();
  await expect(pieces.next()).rejects.toThrow('broken');
});

test('an operation ends at its next step after the visitor has left', async () => {
  const following = followProgress();
  const shown = () => html``;
  const answer = new Promise<string>(() => {});
  const pieces = untilDone({ title: '', first: step(1), following, answer, shown });
  await pieces.next();
  following.report(step(2));
  await pieces.return(undefined);
  expect(() => following.report(step(3))).toThrow('The visitor has left');
});

test('intervals between steps grow, so that the page stays small', async () => {
  const following = followProgress();
  const answer = new Promise<string>(() => {});
  const pieces = untilDone({ title: '', first: step(1), following, answer, shown: () => html`` });
  await pieces.next();
  await pieces.next();
  let steps = 0;
  void (async () => {
    while (!(await pieces.next()).done) {
      steps += 1;
    }
  })();
  for (let second = 0; second < 3_600; second += 1) {
    following.report(step(second));
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect(steps).toBeGreaterThan(500);
  expect(steps).toBeLessThan(1_000);
});
