import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Pace } from './pace';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test('what changes without a rest is followed, and seldom', () => {
  const [pace, done] = [new Pace(), [] as number[]];
  for (let at = 0; at <= 480; at += 16) {
    pace.run(() => done.push(at));
    vi.advanceTimersByTime(16);
  }
  expect(done[0]).toBe(0);
  expect(done.length).toBe(5);
  vi.advanceTimersByTime(100);
  expect(done.at(-1)).toBe(480);
});

test('what is cancelled is not done', () => {
  const [pace, act] = [new Pace(), vi.fn()];
  pace.run(() => undefined);
  pace.run(act);
  pace.cancel();
  vi.advanceTimersByTime(200);
  expect(act).not.toHaveBeenCalled();
});
