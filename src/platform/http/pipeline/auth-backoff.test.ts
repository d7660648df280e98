import { expect, test } from 'vitest';
import { AuthBackoff } from './auth-backoff.ts';

const clockAt = (startMs: number) => {
  let nowMs = startMs;
  return { now: () => new Date(nowMs), advance: (ms: number) => (nowMs += ms) };
};

test('failures beyond the limit must wait until the end of their minute', () => {
  const clock = clockAt(0);
  const backoff = new AuthBackoff(2, clock);
  expect([backoff.failed('192.0.2.1'), backoff.failed('192.0.2.1')]).toEqual([undefined, undefined]);
  expect(backoff.failed('192.0.2.1')).toBe(60);
  clock.advance(59_001);
  expect(backoff.failed('192.0.2.1')).toBe(1);
  clock.advance(999);
  expect(backoff.failed('192.0.2.1')).toBeUndefined();
});

test('says how long an address must wait before anything is verified, without counting', () => {
  const clock = clockAt(0);
  const backoff = new AuthBackoff(2, clock);
  backoff.failed('192.0.2.1');
  expect([backoff.secondsToWait('192.0.2.1'), backoff.secondsToWait('192.0.2.1')]).toEqual([
    undefined,
    undefined,
  ]);
  backoff.failed('192.0.2.1');
  expect([backoff.secondsToWait('192.0.2.1'), backoff.secondsToWait('192.0.2.2')]).toEqual([60, undefined]);
  clock.advance(60_000);
  expect(backoff.secondsToWait('192.0.2.1')).toBeUndefined();
});

test('counts each address separately, and all addresses of an IPv6 network together', () => {
  const backoff = new AuthBackoff(1, clockAt(0));
  backoff.failed('192.0.2.1');
  expect(backoff.failed('192.0.2.2')).toBeUndefined();
  backoff.failed('2001:db8::1');
  expect(backoff.failed('2001:db8::2')).toBe(60);
});

test('keeps a bounded number of addresses', () => {
  const backoff = new AuthBackoff(1, clockAt(0));
  backoff.failed('192.0.2.1');
  for (let i = 0; i < 10_000; i += 1) {
    backoff.failed(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
  }
  expect(backoff.failed('192.0.2.1')).toBeUndefined();
});
