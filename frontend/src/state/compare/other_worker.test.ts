import { batch } from '@preact/signals';
import { beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { Provider, Query } from '../../api/provider';

// Preferences and the screen's settings are read from a browser.
vi.hoisted(() => {
  const matches = { matches: true, addEventListener: () => undefined };
  Object.assign(globalThis, {
    window: globalThis,
    matchMedia: () => matches,
    localStorage: { getItem: () => null, setItem: () => undefined },
  });
});

import { chosenRun, chosenWorker, compareAt, otherRun, otherStep, otherWorker, view } from '../page/choices';
import { useProvider } from '../provider';
import { runDetail, runList } from '../runs';

const WORKERS: Record<string, string[]> = { two: ['host-1', 'host-2'], pair: ['host-7', 'host-8'], one: ['host-9'] };
let asked: Query[] = [];

const server: Provider = {
  json: async (path, query) => {
    const id = path.split('/')[1] ?? '';
    const workers = (WORKERS[id] ?? []).map((worker) => ({ id: worker }));
    if (path !== 'diff') return { id, workers, graphs: [], steps: { step: [1], snapshots: [1] }, events: [], recordings: [] };
    asked.push(query ?? {});
    return { working: false, progress: { done: 1, total: 1, doing: '' }, error: null, comparison: null, rows: [] };
  },
  bytes: async () => new ArrayBuffer(0),
  post: async () => null,
  href: (path) => path,
};

const entry = (id: string) => ({ id, name: id, snapshots: 1, graphs: 1, live: false, steps: { last: 1 } }) as never;

let comparison: typeof import('./comparison');
let state: typeof import('./other_worker');
let matches: typeof import('./manual_matches');

const settled = () => vi.waitFor(() => expect([runDetail.value?.id, state.isOtherWorkerSought.value]).toEqual([chosenRun.value, false]));

/** Chooses what is compared, and waits until the workers of B are known. */
async function choose(a: string, workerA: string | null, b: string, workerB: string | null): Promise<void> {
  asked = [];
  batch(() => {
    [chosenRun.value, chosenWorker.value, otherRun.value, otherWorker.value] = [a, workerA, b, workerB];
  });
  await settled();
}

beforeAll(async () => {
  useProvider(server);
  [comparison, state, matches] = await Promise.all([import('./comparison'), import('./other_worker'), import('./manual_matches')]);
  runList.value = { logdir: 'logs', version: '1', cursor: '1', runs: Object.keys(WORKERS).map(entry) };
  chosenRun.value = 'one';
  view.value = 'compare';
});

beforeEach(() => {
  [compareAt.value, otherStep.value] = ['first', null];
});

test.each([
  ['another worker of the run', 'two', 'host-1', 'two', 'host-2'],
  ['a worker of another run', 'two', 'host-2', 'pair', 'host-7'],
  ['the first worker, of both', 'two', null, 'pair', null],
])('%s is compared', async (_, a, workerA, b, workerB) => {
  await choose(a, workerA, b, workerB);
  await vi.waitFor(() => expect(asked).toHaveLength(1));
  expect(asked[0]).toMatchObject({ a, b, worker: workerA, worker_b: workerB });
});

test.each([
  ['the same worker', 'host-2'],
  ['no worker', null],
])('%s of one run is compared at another step only', async (_, worker) => {
  await choose('two', 'host-2', 'two', worker);
  expect(comparison.comparable.value).toBe(false);
  [compareAt.value, otherStep.value] = ['step', 3];
  expect(comparison.comparable.value).toBe(true);
});

test.each(['two', 'pair'])('a worker that B has not is lost, and not asked for', async (b) => {
  await choose('two', 'host-1', b, 'gone-1');
  expect([state.otherWorkerMissing.value, comparison.comparable.value]).toEqual(['gone-1', false]);
  expect(asked).toEqual([]);
});

test('a worker that A has not is lost, and not asked for', async () => {
  await choose('two', 'gone-1', 'pair', 'host-7');
  expect([state.ownWorkerMissing.value, comparison.comparable.value]).toEqual(['gone-1', false]);
  expect(asked).toEqual([]);
});

test('two workers of the current run are compared at once: the current one, or the first, and another', async () => {
  await choose('two', 'host-2', 'pair', null);
  state.compareTwoWorkers();
  expect([chosenWorker.value, otherRun.value, otherWorker.value]).toEqual(['host-2', 'two', 'host-1']);
  chosenWorker.value = null;
  state.compareTwoWorkers();
  expect([chosenWorker.value, otherWorker.value]).toEqual(['host-1', 'host-2']);
});

test('pairs made by hand are of two workers, or of two runs whichever workers are compared', async () => {
  const pairs = { 'a/MatMul': 'b/MatMul' };
  const compared = (...sides: Parameters<typeof choose>) => choose(...sides).then(() => matches.manualPairs.value);
  await choose('two', 'host-1', 'two', 'host-2');
  matches.setPairs(pairs);
  expect(await compared('two', 'host-2', 'two', 'host-1')).toEqual({});
  expect(await compared('two', 'host-1', 'two', 'host-2')).toEqual(pairs);
  expect(await compared('two', 'host-1', 'pair', 'host-7')).toEqual({});
  matches.setPairs(pairs);
  expect(await compared('two', 'host-2', 'pair', 'host-8')).toEqual(pairs);
});
