import { expect, test } from 'vitest';
import { gradientsOf } from './gradients';
import { makeGraph } from './graph_fixture';

const graph = makeGraph([
  'dense/MatMul',
  'dense/MatMul_1',
  'gradient_tape/dense/MatMul/MatMul_1',
  'gradient_tape/dense/MatMul_1',
  'step/gradient_tape/dense/MatMul/Mul',
  'gradients/dense/MatMul_grad/MatMul',
  'other_gradient_tape/dense/MatMul/Mul',
]);

test.each([
  ['dense/MatMul', [2, 4, 5]],
  ['dense/MatMul_1', [3]],
  ['dense/Relu', []],
])('gradients of %s', (node, rows) => {
  expect(gradientsOf(graph, node)).toEqual(rows);
});
