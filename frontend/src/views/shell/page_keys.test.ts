import { expect, test, vi } from 'vitest';

vi.hoisted(() => {
  const matches = { matches: false, addEventListener: () => undefined };
  Object.assign(globalThis, { window: globalThis, matchMedia: () => matches, addEventListener: () => undefined, location: { hash: '' } });
});

import { GRAPH_KEYS } from '../graph/canvas/graph_keys';
import { REPLAY_KEYS } from '../replay/replay_keys';
import { KEYS } from './page_keys';

/** Search, and the next or previous node with NaN or Inf. */
const SHARED = ['/', 'm', 'M'];

test('a key has one meaning in all views, but for arrows and Enter', () => {
  const page = KEYS.flatMap(({ keys }) => keys);
  const graph = GRAPH_KEYS.flatMap(({ keys, actions }) => [...new Set([...keys, ...Object.keys(actions ?? {})])]);
  const replay = REPLAY_KEYS.flatMap(({ actions }) => Object.keys(actions));
  for (const keys of [page, graph, replay]) expect(new Set(keys).size).toBe(keys.length);
  const letters = [...page, ...graph, ...replay].filter((key) => key.length === 1 && !'←→↑↓'.includes(key));
  expect(letters.filter((key, i) => letters.indexOf(key) !== i)).toEqual(SHARED);
});
