import { expect, test } from 'vitest';
import { makeGraph } from '../graph/graph_fixture';
import { shortestPath, traceRows } from '../graph/trace';
import { linksOnce } from './connected';
import { parseQuery } from './query';
import { runQuery } from './search';

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
const found = (text: string): string[] => [...runQuery(graph, parseQuery(text)).rows].map((row) => graph.paths.at(row));
const names = (rows: Int32Array): string[] => [...rows].map((row) => graph.paths.at(row));
const row = (path: string): number => runQuery(graph, parseQuery(`/^${path}$/`)).rows[0]!;

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

test('a row that cannot be read is explained', () => {
  expect(parseQuery('MatMul->(->Softmax').error).toMatch(/not a regular expression/);
  for (const text of ['->', 'MatMul ->', '-> Softmax', 'a->->b']) expect(parseQuery(text).error).toMatch(/needs a node on both sides/);
});

test('any number of nodes may lie in between, but none that fits the step before', () => {
  const nodes = Array.from({ length: 40 }, (_, i) => ({ path: `n${i}`, op: { 0: 'A', 1: 'A', 39: 'B' }[i] ?? 'C' }));
  const chain = makeGraph(
    nodes,
    nodes.slice(1).map((node, i) => `n${i} -> ${node.path}`),
  );
  expect([...runQuery(chain, parseQuery('A->.*->B')).rows]).toEqual([1, 39]);
  expect([...runQuery(chain, parseQuery('A->.*->C->.*->B')).rows]).toEqual([1, 38, 39]);
  expect([...runQuery(chain, parseQuery('A->B')).rows]).toEqual([]);
});

test('a step is looked for in op types and labels, whatever Keras made of it', () => {
  const attention = makeGraph(
    [
      { path: 'mha/query/MatMul', op: 'BatchMatMulV2' },
      { path: 'mha/query/add', op: 'AddV2' },
      { path: 'mha/scores', op: 'Einsum' },
      { path: 'mha/Softmax/mask', op: 'Mul' },
      { path: 'mha/softmax_1', op: 'Softmax' },
    ],
    [
      'mha/query/MatMul -> mha/query/add',
      'mha/query/add -> mha/scores',
      'mha/scores -> mha/Softmax/mask',
      'mha/Softmax/mask -> mha/softmax_1',
    ],
  );
  const hits = (text: string) => [...runQuery(attention, parseQuery(text)).rows];
  expect(hits('MatMul->.*->Softmax')).toEqual([2, 4]);
  expect(hits('matmul->add->einsum')).toEqual([0, 1, 2]);
  expect(hits('^MatMul$->.*->Softmax')).toEqual([0, 4]); // its label
  expect(hits('query->add')).toEqual([]); // a scope is not a node
});

test('a step may be called as what every object of JavaScript has', () => {
  const graph = makeGraph(['constructor', 'after'], ['constructor -> after']);
  expect([...runQuery(graph, parseQuery('constructor->after')).rows]).toEqual([0, 1]);
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

test('the shortest ways between the ends are told, and no other nodes', () => {
  const ways = (text: string) => runQuery(graph, parseQuery(text)).ways.map(names);
  expect(ways('MatMul->.*->Softmax')).toEqual([
    ['q', 'scale', 'softmax'],
    ['direct', 'softmax_1'],
  ]);
  expect(ways('layer:attention->.*->Mul->.*->Relu')).toEqual([['q', 'scale', 'softmax', 'after']]);
  expect(ways('MatMul->.*->Softmax /_1$/')).toEqual([['direct', 'softmax_1']]);
  expect(ways('Relu->.*->MatMul')).toEqual([]);
  const ring = makeGraph(['A', 'B', 'C'], ['A -> B', 'B -> A', 'B -> C']);
  expect(runQuery(ring, parseQuery('A->.*->A->.*->C')).ways.map((way) => [...way])).toEqual([[0, 1, 0, 1, 2]]);
});

test('what ways share is told once', () => {
  const ways = [
    [0, 1, 2, 3],
    [0, 1, 2, 4],
    [5, 1, 2, 6],
    [0, 1, 2],
  ].map((way) => Int32Array.from(way));
  const pieces = linksOnce(ways, 7).map((piece) => [...piece]);
  expect(pieces).toEqual([
    [0, 1, 2, 3],
    [2, 4],
    [5, 1],
    [2, 6],
  ]);
});
