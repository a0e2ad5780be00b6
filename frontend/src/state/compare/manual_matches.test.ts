import { beforeAll, expect, test, vi } from 'vitest';

// Preferences and the screen's settings are read from a browser.
vi.hoisted(() => {
  const matches = { matches: true, addEventListener: () => undefined };
  Object.assign(globalThis, { window: globalThis, matchMedia: () => matches });
});

import { chosenRun, otherRun } from '../page/choices';
import { useProvider } from '../provider';
import { runList } from '../runs';

let state: typeof import('./manual_matches');
const entry = (id: string, name: string) => ({ id, name, snapshots: 1, graphs: 1, live: false, steps: { last: 1 } }) as never;

beforeAll(async () => {
  useProvider({ json: async () => ({}), bytes: async () => new ArrayBuffer(0), post: async () => null, href: (path) => path });
  state = await import('./manual_matches');
  runList.value = { logdir: 'logs', version: '1', cursor: '1', runs: [entry('a-1', 'a'), entry('b-1', 'b'), entry('c-1', 'c')] };
  chosenRun.value = 'a';
});

test.each([
  ['an id', 'b-1', 'b-1', null],
  ['a name', 'c', 'c-1', null],
  ['none that is there', 'gone', null, 'gone'],
  ['none', null, 'b-1', null],
])('run B, called by %s', (_, called, id, lost) => {
  otherRun.value = called;
  expect([state.otherRunId.value, state.otherRunMissing.value]).toEqual([id, lost]);
});
