import { expect, test } from 'vitest';
import { type FileOf, numpyExpression, tensorFile } from './export_names';

test.each<[FileOf, string]>([
  [{ tensor: 'dense/MatMul:0', step: 0, selection: '' }, 'dense_MatMul_0-step0'],
  [{ tensor: 'dense/MatMul:0', step: 0, selection: ':,:' }, 'dense_MatMul_0-step0'],
  [{ tensor: 'dense/MatMul:0', step: 0, selection: '1:,::2' }, 'dense_MatMul_0-step0-at_1to_allby2'],
  [{ tensor: 'dense/MatMul:0', step: 1, selection: '0:2,-1' }, 'dense_MatMul_0-step1-at_0to2_-1'],
  [{ tensor: 'while/Mul:0', step: 3, visit: 0, selection: '2,:' }, 'while_Mul_0-step3-visit0-at_2_all'],
  [{ tensor: 'a/b:0', what: 'history' }, 'a_b_0-history'],
  [{ tensor: '../<é>', step: 3, visit: null, what: 'histogram' }, 'tensor-step3-histogram'],
])('%j is called %s', (of, name) => {
  expect(tensorFile(of)).toBe(name);
});

const ADDRESS = { logdir: 'logs', run: 'exp1/a', tensor: 'dense/Relu:0', step: 3, visit: 0, worker: null, graph: null };

test.each([
  [ADDRESS, null, 'tensortap.open("logs").runs["exp1/a"].tensor("dense/Relu:0", step=3)[...]'],
  [ADDRESS, ['y', 'x'] as const, 'tensortap.open("logs").runs["exp1/a"].tensor("dense/Relu:0", step=3)[...]'],
  [ADDRESS, [0, 'y', 'x'] as const, 'tensortap.open("logs").runs["exp1/a"].tensor("dense/Relu:0", step=3)[0, :, :]'],
  [
    { ...ADDRESS, visit: 2, worker: 'w"1', graph: 'g' },
    null,
    'tensortap.open("logs").runs["exp1/a"].tensor("dense/Relu:0", step=3, visit=2, worker="w\\"1", graph="g")[...]',
  ],
])('%j with %j', (address, mapping, expression) => {
  expect(numpyExpression(address, mapping && [...mapping])).toBe(expression);
});
