import { expect, test } from 'vitest';
import { makeGraph, treeOf } from './graph_fixture';
import { followTrace, sameTrace, type Trace } from './trace';

const graph = makeGraph(
  ['a/MatMul', 'a/Add', 'b/Relu', 'b/Mul', 'c/Sum', 'c/Exp'],
  ['a/MatMul -> a/Add', 'a/Add -> b/Relu', 'b/Relu -> b/Mul', 'b/Mul -> c/Sum', 'c/Exp => a/MatMul'],
);
const tree = treeOf(graph);
const follow = (trace: Trace) => {
  const { rows, missing } = followTrace(graph, tree, trace);
  return missing ?? [...rows].map((row) => graph.names.at(row));
};

test.each<[Trace, unknown]>([
  [{ kind: 'inputs', from: 'b/Mul', to: '' }, ['b/Relu', 'a/Add', 'a/MatMul']],
  [{ kind: 'outputs', from: 'b/Mul', to: '' }, ['c/Sum']],
  [{ kind: 'outputs', from: 'c/Exp', to: '' }, []],
  [{ kind: 'outputs', from: 'a', to: '' }, ['b/Relu', 'b/Mul', 'c/Sum']],
  [{ kind: 'path', from: 'a/MatMul', to: 'b/Relu' }, ['a/MatMul', 'a/Add', 'b/Relu']],
  [{ kind: 'path', from: 'c', to: 'a' }, ['a/Add', 'b/Relu', 'b/Mul', 'c/Sum']],
  [{ kind: 'path', from: 'c/Exp', to: 'a/Add' }, []],
  [{ kind: 'paths', from: 'a/MatMul', to: 'b/Relu' }, ['a/MatMul', 'a/Add', 'b/Relu']],
  [{ kind: 'paths', from: 'c', to: 'a/Add' }, ['a/Add', 'b/Relu', 'b/Mul', 'c/Sum']],
  [{ kind: 'paths', from: 'c/Exp', to: 'a/Add' }, []],
  [{ kind: 'paths', from: 'a', to: 'gone' }, 'gone'],
  [{ kind: 'path', from: 'gone', to: 'a' }, 'gone'],
])('%j', (trace, wanted) => {
  expect(follow(trace)).toEqual(wanted);
});

test('equal traces are the same', () => {
  expect(sameTrace({ kind: 'inputs', from: 'a', to: '' }, { kind: 'inputs', from: 'a', to: '' })).toBe(true);
  expect(sameTrace({ kind: 'inputs', from: 'a', to: '' }, null)).toBe(false);
});

test('all paths between two nodes, each node after what it reads', () => {
  const edges = [
    'x -> long',
    'long -> longer',
    'longer -> sum',
    'x -> sum',
    'sum -> loss',
    'x -> aside',
    'other -> sum',
    'loop -> longer',
    'longer -> loop',
  ];
  const branches = makeGraph(['x', 'sum', 'long', 'longer', 'loss', 'aside', 'other', 'loop'], edges);
  const rows = (kind: Trace['kind']): string[] =>
    [...followTrace(branches, treeOf(branches), { kind, from: 'x', to: 'loss' }).rows].map((row) => branches.names.at(row));
  expect(rows('path')).toEqual(['x', 'sum', 'loss']);
  const all = rows('paths');
  expect(new Set(all)).toEqual(new Set(['x', 'long', 'longer', 'loop', 'sum', 'loss']));
  expect(all[0]).toBe('x');
  expect(all.indexOf('long')).toBeLessThan(all.indexOf('longer'));
  expect(all.at(-1)).toBe('loss');
});
