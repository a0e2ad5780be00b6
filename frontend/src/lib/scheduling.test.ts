import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { runAtOnce, runInSlices, type SlicedWork, Throttle } from './scheduling';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test('what changes without a rest is followed, and seldom', () => {
  const [pace, done] = [new Throttle(), [] as number[]];
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
  const [pace, act] = [new Throttle(), vi.fn()];
  pace.run(() => undefined);
  pace.run(act);
  pace.cancel();
  vi.advanceTimersByTime(200);
  expect(act).not.toHaveBeenCalled();
});

const endless = new AbortController().signal;

/** Counts its slices, each of which takes `ms` of a clock that otherwise stands still. */
function counting(pieces: number, ms: number): SlicedWork<number> {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  return (function* () {
    for (let i = 0; i < pieces; i++) {
      now += ms;
      yield;
    }
    return pieces;
  })();
}

afterEach(() => vi.restoreAllMocks());

/** Which comes first: the answer, or an event that waits for the work. */
async function first(work: SlicedWork<number>): Promise<string> {
  const order: string[] = [];
  const waiting = new Promise<void>((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      order.push('what waits');
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
  const answer = runInSlices(work, endless).then(() => order.push('the answer'));
  await Promise.all([answer, waiting]);
  return order[0]!;
}

test('what waits comes between the pieces of long work, and after short work', async () => {
  expect(await first(counting(20, 3))).toBe('what waits');
  expect(await first(counting(2, 3))).toBe('the answer');
});

test('in pieces and at once it comes to the same', async () => {
  expect(await runInSlices(counting(20, 3), endless)).toBe(20);
  expect(runAtOnce(counting(20, 3))).toBe(20);
});

test('work that is not wanted any more ends at its next pause', async () => {
  const stopped = new AbortController();
  const answer = runInSlices(counting(1e9, 3), stopped.signal);
  stopped.abort();
  expect(await answer).toBeNull();
});
