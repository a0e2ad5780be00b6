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
  [{ kind: 'path', from: 'gone', to: 'a' }, 'gone'],
])('%j', (trace, wanted) => {
  expect(follow(trace)).toEqual(wanted);
});

test('equal traces are the same', () => {
  expect(sameTrace({ kind: 'inputs', from: 'a', to: '' }, { kind: 'inputs', from: 'a', to: '' })).toBe(true);
  expect(sameTrace({ kind: 'inputs', from: 'a', to: '' }, null)).toBe(false);
});
