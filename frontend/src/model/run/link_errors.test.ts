import { expect, test } from 'vitest';
import { makeGraph } from '../graph/graph_fixture';
import type { DimMapping } from '../value/dims';
import { missingDims, missingInGraph, missingInRun, missingScopes, missingVisit, resolveRunId, unreadText } from './link_errors';

const GRAPHS = [{ id: 'fit' }, { id: 'predict' }];
const NOTHING = { graph: null, worker: null, step: null, range: null };
const WORKERS = [{ id: 'a-1' }, { id: 'a-2' }];

test('what is there needs no message', () => {
  expect(missingInRun({ graph: 'fit', worker: 'a-1', step: 5, range: { first: 3, last: 9 } }, GRAPHS, WORKERS, [0, 5], 5)).toBeNull();
  expect(missingInRun(NOTHING, GRAPHS, WORKERS, [0, 5], 5)).toBeNull();
});

test('a graph or step that is not there is named, with what is shown in its place', () => {
  expect(missingInRun({ ...NOTHING, graph: 'zzz' }, GRAPHS, WORKERS, [0, 5], 5)).toBe(
    'The run has no graph zzz: showing the one with the most snapshots.',
  );
  expect(missingInRun({ ...NOTHING, step: 9999 }, GRAPHS, WORKERS, [0, 5], 5)).toBe(
    'Step 9999 was not captured: showing the nearest step, 5.',
  );
  expect(missingInRun({ ...NOTHING, graph: 'zzz', step: 9999 }, GRAPHS, WORKERS, [0, 5], 5)).toContain('zzz');
});

test('a worker that is not there is named, with whose numbers are shown in its place', () => {
  const asked = { ...NOTHING, worker: 'b-7' };
  expect(missingInRun(asked, GRAPHS, WORKERS, [5], 5)).toBe('The run has no worker b-7: showing all workers.');
  expect(missingInRun(asked, GRAPHS, WORKERS.slice(1), [5], 5)).toBe('The run has no worker b-7: showing its only worker.');
});

test('a range without a step, and a step outside the range, are named', () => {
  expect(missingInRun({ ...NOTHING, range: { first: 6, last: 9 } }, GRAPHS, WORKERS, [0, 5], 5)).toBe(
    'No step from 6 to 9 was captured; showing all steps.',
  );
  expect(missingInRun({ ...NOTHING, step: 5, range: { first: 0, last: 3 } }, GRAPHS, WORKERS, [0, 5], 0)).toBe(
    'Step 5 is outside the step range: showing the nearest step, 0.',
  );
});

test('a visit that the tensor does not have is named, with the current one', () => {
  const lost = (visit: number | null, visits: number[]) => missingVisit({ tensor: 'while/Mul:0', visit }, 20, visits, 0);
  expect(lost(99, [0, 1, 2])).toBe('while/Mul:0 has no iteration 99 at step 20; showing iteration 0.');
  expect([lost(2, [0, 1, 2]), lost(null, [0, 1, 2]), lost(99, [])]).toEqual([null, null, null]);
});

test('a layout of dimensions that does not fit the tensor is named, with its shape', () => {
  const lost = (...dims: DimMapping) => missingDims({ tensor: 'Relu:0', dims }, [4, 8, 8]);
  expect([lost(3, 'y', 'x'), missingDims({ tensor: 'Relu:0', dims: null }, [4, 8, 8])]).toEqual([null, null]);
  expect(lost(4, 'y', 'x')).toBe('dims=4,y,x does not fit Relu:0 of shape [4, 8, 8]; showing the default dimensions.');
  expect([lost('y', 'x'), lost(0, 'x', 'x')].every((text) => text?.includes('does not fit'))).toBe(true);
});

test('a scope that the graph does not have, and a colouring that there is not, are named', () => {
  const graph = makeGraph(['model/block_0/Relu', 'model/block_1/Relu']);
  const lost = (scopes: string[], color: string | null, layer: string | null = null, node: string | null = null) =>
    missingInGraph({ node, scopes: missingScopes(graph, scopes), color, layer }, (key) => key === 'model');
  expect([lost(['model'], 'size'), lost(['model/block_0..block_1'], 'statistic:mean'), lost([], null)]).toEqual([null, null, null]);
  expect(lost(['model/block'], null)).toBe('The graph has no scope model/block.');
  expect(lost(['a', 'model', 'b', 'c', 'd/e'], null)).toBe('The graph has no scopes a, b, c and 1 more.');
  expect(lost([], null, 'model')).toBeNull();
  expect(lost([], null, 'nope')).toBe('The graph has no layer nope; showing the whole model.');
  expect(lost([], null, null, 'model/Rleu')).toBe('The graph has no node model/Rleu.');
  expect(lost(['mod'], 'zzz')).toBe('The graph has no scope mod. Unknown colouring "zzz"; using Health.');
  expect(lost([], 'statistic:zzz')).toBe('Unknown statistic "zzz"; using Max |x|.');
});

test('nothing is said before the run and its steps are there', () => {
  expect(missingInRun({ ...NOTHING, graph: 'zzz', step: 9999 }, [], [], [], null)).toBeNull();
});

test('a run is called by its id, or by a name that is its alone', () => {
  const runs = [
    { id: 'cnn-1', name: 'cnn' },
    { id: 'a-1', name: 'a' },
    { id: 'a-2', name: 'a' },
  ];
  expect(['cnn-1', 'cnn', 'a-2', 'a', 'gone'].map((called) => resolveRunId(called, runs))).toEqual(['cnn-1', 'cnn-1', 'a-2', 'a', 'gone']);
});

test('what of the address cannot be read is named, as far as it fits', () => {
  expect(unreadText([], 'Layers')).toBeNull();
  expect(unreadText(['step=abc'], 'Layers')).toBe('Ignored unknown URL parameter: step=abc');
  expect(unreadText(['view=wat'], 'Layers')).toBe('Ignored unknown URL parameter: view=wat. Showing Layers.');
  expect(unreadText(['a=1', 'b=2', 'c=3', 'd=4'], 'Layers')).toBe('Ignored unknown URL parameters: a=1, b=2, c=3 and 1 more');
});
