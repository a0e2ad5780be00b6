import { afterEach, expect, test, vi } from 'vitest';
import { makeGraph, treeOf } from '../../../model/graph/graph_fixture';
import { NO_FACTS } from '../../../model/search/search';
import { Finder } from './finder';

const graph = makeGraph(['net/MatMul', 'net/Relu', 'net/Relu_1']);
const tree = treeOf(graph);
const search = (finder: Finder, text: string, kept = false) => finder.search(text, graph, tree, NO_FACTS, kept);

/** A clock with which every slice takes too long, so that a search pauses whenever it may. */
function slowly(): void {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 20));
}

afterEach(() => vi.restoreAllMocks());

test('what was found before stays until what is searched for is known', async () => {
  const finder = new Finder();
  await search(finder, 'matmul');
  slowly();
  const done = search(finder, 'relu');
  expect([finder.text.value, [...finder.hits.value]]).toEqual(['matmul', [0]]);
  expect(await done).toBe(true);
  expect([finder.text.value, [...finder.hits.value], [...finder.marks!.nodes]]).toEqual(['relu', [1, 2], [0, 1, 1]]);
});

test('a search ends where another one begins, or where it is cleared', async () => {
  slowly();
  const finder = new Finder();
  const first = search(finder, 'relu');
  const second = search(finder, 'matmul');
  expect([await first, await second, [...finder.hits.value]]).toEqual([false, true, [0]]);
  const third = search(finder, 'relu');
  finder.clear();
  expect([await third, finder.hits.value.length]).toEqual([false, 0]);
});

test('the current hit is kept where it still is one, as of the end of the search', async () => {
  const finder = new Finder();
  await search(finder, 'net');
  slowly();
  const again = search(finder, 'relu', true);
  finder.choose(2);
  await again;
  expect(finder.currentRow).toBe(2);
  await search(finder, 'relu');
  expect(finder.currentRow).toBe(-1);
});
