import { beforeAll, expect, test, vi } from 'vitest';
import type { Provider } from '../../api/provider';

// Preferences and the screen's settings are read from a browser.
vi.hoisted(() => {
  const matches = { matches: true, addEventListener: () => undefined };
  Object.assign(globalThis, { window: globalThis, matchMedia: () => matches });
});

import { chosenRun, otherRun, view } from '../page/choices';
import { useProvider } from '../provider';
import { runList } from '../runs';

let asked: string[] = [];
let lost = false;

const server: Provider = {
  json: async (path, query) => {
    if (path !== 'diff')
      return { id: path.split('/')[1], workers: [], graphs: [], steps: { step: [1], snapshots: [1] }, events: [], recordings: [] };
    asked.push(query?.cancel ? 'cancel' : 'compare');
    if (lost) throw new Error('lost');
    return { working: true, progress: { done: 1, total: 9, doing: 'reading' }, error: null, comparison: null, rows: [] };
  },
  bytes: async () => new ArrayBuffer(0),
  post: async () => null,
  href: (path) => path,
};

const entry = (id: string, snapshots: number) => ({ id, name: id, snapshots, graphs: 1, live: true, steps: { last: 1 } }) as never;
const list = (snapshots: number) => ({
  logdir: 'logs',
  version: '1',
  cursor: `${snapshots}`,
  runs: [entry('A', snapshots), entry('B', 5)],
});

let state: typeof import('./comparison');
const message = () => state.comparison.error.value?.message;

beforeAll(async () => {
  useProvider(server);
  state = await import('./comparison');
  runList.value = list(5);
  chosenRun.value = 'A';
  otherRun.value = 'B';
  view.value = 'compare';
  await vi.waitFor(() => expect(state.comparisonProgress.value?.done).toBe(1));
});

test('a comparison that was stopped is not begun again because a run grows', async () => {
  state.stopComparison();
  await vi.waitFor(() => expect(message()).toBe('The comparison was stopped.'), 5000);
  expect(asked.at(-1)).toBe('cancel');
  asked = [];
  runList.value = list(6);
  await vi.waitFor(() => expect(state.comparison.loading.value).toBe(false));
  expect(message()).toBe('The comparison was stopped.');
  expect(asked).toEqual([]);
});

test('asked for once more it is compared; where the server is lost no progress is shown', async () => {
  state.compareAgain();
  await vi.waitFor(() => expect(asked).toContain('compare'));
  lost = true;
  await vi.waitFor(() => expect(message()).toBe('lost'), 5000);
  expect(state.comparisonProgress.value).toBeNull();
});
