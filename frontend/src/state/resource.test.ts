import { signal } from '@preact/signals';
import { expect, test, vi } from 'vitest';
import { ApiError, NoAnswer } from '../api/provider';
import { Lru } from '../lib/lru';
import { askAgain, isRapidInput, noteRapidInput, type Request, resource } from './resource';

const request = (key: string, subject = key): Request => ({ key, subject });

/** Loads that the test answers, in any order. */
function byHand() {
  const open = new Map<string, { answer: (value: string) => void; fail: (error: Error) => void; abort: AbortSignal }>();
  const load = ({ key }: Request, abort: AbortSignal) =>
    new Promise<string>((answer, fail) => {
      open.set(key, { answer, fail, abort });
    });
  return { open, load };
}

const settled = () => new Promise((resolve) => setTimeout(resolve));

test('a newer request aborts the one under way, whose late answer is ignored', async () => {
  const wanted = signal<Request | null>(request('a'));
  const { open, load } = byHand();
  const loaded = resource(wanted, load);
  wanted.value = request('b');
  expect(open.get('a')?.abort.aborted).toBe(true);
  open.get('b')?.answer('B');
  open.get('a')?.answer('A');
  await settled();
  expect([loaded.data.value, loaded.loading.value]).toEqual(['B', false]);
});

test('data stays visible while its subject does, and goes with it', async () => {
  const wanted = signal<Request | null>(request('a1', 'a'));
  const { open, load } = byHand();
  const loaded = resource(wanted, load);
  open.get('a1')?.answer('first');
  await settled();
  wanted.value = request('a2', 'a');
  expect([loaded.data.value, loaded.loading.value]).toEqual(['first', true]);
  wanted.value = request('b', 'b');
  expect(loaded.data.value).toBeNull();
});

test('a part of the answer is visible while the rest is loading', async () => {
  const wanted = signal<Request | null>(request('a'));
  let show = (_: string) => {};
  const loaded = resource<Request, string>(wanted, (_request, _abort, part) => {
    show = part;
    return new Promise<string>(() => {});
  });
  show('part');
  expect([loaded.data.value, loaded.loading.value]).toEqual(['part', true]);
});

test('a failure keeps the last data and says what went wrong; reload tries again', async () => {
  const wanted = signal<Request | null>(request('a', 's'));
  const { open, load } = byHand();
  const loaded = resource(wanted, load);
  open.get('a')?.answer('data');
  await settled();
  loaded.reload();
  open.get('a')?.fail(new Error('gone'));
  await settled();
  expect([loaded.data.value, loaded.error.value?.message]).toEqual(['data', 'gone']);
  loaded.reload();
  open.get('a')?.answer('again');
  await settled();
  expect([loaded.data.value, loaded.error.value]).toEqual(['again', null]);
});

test('an answer in the cache is there at once, without a request', () => {
  const cache = new Lru<string, string>(4);
  cache.set('a', 'known');
  const { open, load } = byHand();
  const loaded = resource(signal<Request | null>(request('a')), load, { cache });
  expect([loaded.data.value, loaded.loading.value, open.size]).toEqual(['known', false, 0]);
});

test('nothing wanted is nothing loaded', async () => {
  const wanted = signal<Request | null>(request('a'));
  const { open, load } = byHand();
  const loaded = resource(wanted, load);
  wanted.value = null;
  open.get('a')?.answer('late');
  await settled();
  expect([loaded.data.value, loaded.loading.value]).toEqual([null, false]);
});

test('what nobody answered is asked again when the server is back; other failures wait for the user', async () => {
  const wanted = signal<Request | null>({ key: 'a', subject: 'a' });
  const failures: (Error | null)[] = [new NoAnswer('it stopped'), new NoAnswer('it stopped'), new ApiError(404, 'gone', ''), null];
  let asked = 0;
  const found = resource(wanted, async () => {
    const failure = failures[asked++];
    if (failure) throw failure;
    return asked;
  });
  for (const times of [1, 2, 3]) {
    await vi.waitFor(() => expect(asked).toBe(times));
    await vi.waitFor(() => expect(found.error.value).toBe(failures[times - 1]));
    askAgain();
  }
  expect(asked).toBe(3);
  found.reload();
  await vi.waitFor(() => expect(found.data.value).toBe(4));
});

test('while a held key flies by, what it passes is asked for now and then, and at last what it came to', () => {
  vi.useFakeTimers();
  const wanted = signal<Request | null>(request('0', 's'));
  const { open, load } = byHand();
  resource(wanted, load);
  for (let i = 1; i <= 30; i++) {
    noteRapidInput();
    wanted.value = request(String(i), 's');
    vi.advanceTimersByTime(33);
  }
  expect(isRapidInput.value).toBe(true);
  expect(open.size).toBeGreaterThan(4);
  expect(open.size).toBeLessThan(9);
  vi.advanceTimersByTime(200);
  expect(isRapidInput.value).toBe(false);
  expect(open.has('30')).toBe(true);
  vi.useRealTimers();
});
