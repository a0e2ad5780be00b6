import { expect, test } from 'vitest';
import { captured, roleCounts, roleNamed, written } from './layers_fixture';

test('each node of a Keras train step has a part', () => {
  const counts = roleCounts(captured('nested'));
  expect(counts.forward).toBeGreaterThan(50);
  expect(counts.backward).toBeGreaterThan(50);
  expect(counts.optimizer).toBeGreaterThan(40);
  expect(counts.loss).toBeLessThan(20);
  expect(counts.bookkeeping).toBeLessThan(20);
});

test('the number of samples behind a mean loss is a metric, the iteration counter is of the optimizer', () => {
  const step = captured('cnn');
  expect(roleNamed(step, 'AssignVariableOp_1')).toBe('metrics');
  expect(roleNamed(step, 'AssignVariableOp_2')).toBe('optimizer');
});

test('a weight that the reported loss depends on is updated by the optimizer, also from a slot that is read again', () => {
  const step = written(
    [
      'x Placeholder',
      'w VarHandleOp',
      'm VarHandleOp',
      'read ReadVariableOp net/a w weight a/w',
      'product MatMul net/a x,read output',
      'loss Mean - product loss',
      'slope Mul net/a product,x gradient a/w',
      'gather AssignAddVariableOp - m,slope',
      'momentum ReadVariableOp - m',
      'scaled Mul - momentum update a/w',
      'store AssignSubVariableOp - w,scaled',
    ],
    {},
    'loss',
  );
  expect(roleNamed(step, 'store')).toBe('optimizer');
  expect(roleNamed(step, 'scaled')).toBe('optimizer');
});

test('the parts follow data and not names', () => {
  const step = written([
    'x Placeholder',
    'kernel VarHandleOp',
    'read ReadVariableOp net/dense kernel weight net/dense/kernel',
    'product MatMul net/dense x,read output',
    'error Sub - product,x',
    'loss Mean - error loss',
    'slope Mul - error,x gradient net/dense/kernel',
    'rate Const',
    'change Mul - slope,rate update net/dense/kernel',
    'store AssignSubVariableOp - kernel,change',
    'count VarHandleOp',
    'one Const',
    'counted AssignAddVariableOp - count,one',
  ]);
  const parts = {
    x: 'input',
    read: 'forward',
    product: 'forward',
    error: 'loss',
    loss: 'loss',
    slope: 'backward',
    rate: 'optimizer',
    change: 'optimizer',
  };
  for (const [node, part] of Object.entries(parts)) expect(roleNamed(step, node), node).toBe(part);
  expect(roleNamed(step, 'store')).toBe('optimizer');
});

test('a function without gradients is the model, what restores its variables is not', () => {
  const model = written([
    'x Placeholder',
    'kernel VarHandleOp',
    'read ReadVariableOp - kernel',
    'net/product MatMul - x,read',
    'net/Relu Relu - net/product',
    'file Placeholder',
    'value RestoreV2 - file',
    'restore AssignVariableOp - kernel,value',
  ]);
  for (const node of ['read', 'net/product', 'net/Relu']) expect(roleNamed(model, node), node).toBe('forward');
  expect(roleNamed(model, 'x')).toBe('input');
});

test('a layer of which only the gradient is read, as in a gradient penalty, is of the model', () => {
  const step = written([
    'x Placeholder',
    'read ReadVariableOp net/dense - weight net/dense/kernel',
    'loss Mean - read loss',
    'product MatMul net/dense x,read output',
    'seed OnesLike - product',
    'gradient Mul - seed,read gradient net/dense/kernel',
  ]);
  expect(roleNamed(step, 'product')).toBe('forward');
});
