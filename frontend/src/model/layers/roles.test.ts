import { expect, test } from 'vitest';
import { captured, roleCounts, roleNamed, written } from './layers_fixture';

test('each node of a Keras train step has a part', () => {
  const counts = roleCounts(captured('nested'));
  expect(counts.forward).toBeGreaterThan(50);
  expect(counts.backward).toBeGreaterThan(50);
  expect(counts.optimizer).toBeGreaterThan(50);
  expect(counts.loss).toBeLessThan(20);
  expect(counts.bookkeeping).toBeLessThan(20);
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
