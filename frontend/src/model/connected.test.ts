import { expect, test } from 'vitest';
import { makeGraph } from './graph_fixture';
import { shortestPath, traceRows } from './paths';
import { parseQuery, runQuery } from './search';

const graph = makeGraph(
  [
    { path: 'q', op: 'MatMul', layer: 'attention' },
    { path: 'scale', op: 'Mul' },
    { path: 'softmax', op: 'Softmax' },
    { path: 'direct', op: 'MatMul' },
    { path: 'softmax_1', op: 'Softmax' },
    { path: 'lonely', op: 'MatMul' },
    { path: 'after', op: 'Relu' },
    { path: 'waits', op: 'Softmax' },
  ],
  ['q -> scale', 'scale -> softmax', 'direct -> softmax_1', 'softmax -> after', 'lonely => waits'],
);
const found = (text: string): string[] => [...runQuery(graph, parseQuery(text))].map((row) => graph.paths.at(row));
const names = (rows: Int32Array): string[] => [...rows].map((row) => graph.paths.at(row));
const row = (path: string): number => runQuery(graph, parseQuery(`/^${path}$/`))[0]!;

test.each([
  ['MatMul->Softmax', ['direct', 'softmax_1']],
  ['matmul -> .* -> softmax', ['q', 'softmax', 'direct', 'softmax_1']],
  ['MatMul->Mul->Softmax', ['q', 'scale', 'softmax']],
  ['MatMul->.*->Relu', ['q', 'after']],
  ['MatMul->.+->Softmax', ['q', 'scale', 'softmax']],
  ['Mat.*|Mul->Softmax', ['scale', 'softmax', 'direct', 'softmax_1']],
  ['layer:attention->.*->Softmax', ['q', 'softmax']],
  ['MatMul->.*->Softmax op:softmax', ['softmax', 'softmax_1']],
  ['Softmax->MatMul', []],
  ['->', []],
])('%s', (text, wanted) => {
  expect(found(text)).toEqual(wanted);
});

test('a step that is no regular expression is explained', () => {
  expect(parseQuery('MatMul->(->Softmax').error).toMatch(/not a regular expression/);
});

test('what lies far apart is not connected', () => {
  const nodes = Array.from({ length: 14 }, (_, i) => ({ path: `n${i}`, op: i === 0 ? 'A' : i > 11 ? 'B' : 'C' }));
  const chain = makeGraph(
    nodes,
    nodes.slice(1).map((node, i) => `n${i} -> ${node.path}`),
  );
  expect([...runQuery(chain, parseQuery('A->.*->B'))]).toEqual([]);
  expect([...runQuery(chain, parseQuery('A->.*->C->.*->B'))].slice(-2)).toEqual([12, 13]);
});

test('inputs and outputs are traced along data edges, nearest first', () => {
  expect(names(traceRows(graph.nodeCount, graph.edges, [row('after')], 'inputs'))).toEqual(['softmax', 'scale', 'q']);
  expect(names(traceRows(graph.nodeCount, graph.edges, [row('q')], 'outputs'))).toEqual(['scale', 'softmax', 'after']);
  expect(names(traceRows(graph.nodeCount, graph.edges, [row('lonely')], 'outputs'))).toEqual([]);
});

test('the shortest path is told in the order of the data', () => {
  const path = (from: string, to: string) => names(shortestPath(graph.nodeCount, graph.edges, [row(from)], [row(to)]));
  expect(path('q', 'after')).toEqual(['q', 'scale', 'softmax', 'after']);
  expect(path('after', 'q')).toEqual(['q', 'scale', 'softmax', 'after']);
  expect(path('q', 'q')).toEqual(['q']);
  expect(path('q', 'direct')).toEqual([]);
  const between = shortestPath(graph.nodeCount, graph.edges, [row('q'), row('scale')], [row('lonely'), row('after')]);
  expect(names(between)).toEqual(['scale', 'softmax', 'after']);
});
