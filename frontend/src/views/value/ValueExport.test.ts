import { expect, test } from 'vitest';
import { numpyExpression } from './ValueExport';

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
