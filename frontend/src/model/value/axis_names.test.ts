import { expect, test } from 'vitest';
import { axisNames } from './axis_names';

const op = (op_type: string, more: { layer?: string; data_format?: string; name?: string } = {}) => ({
  op_type,
  layer: more.layer ?? '',
  name: more.name ?? op_type,
  attributes: more.data_format === undefined ? {} : { data_format: more.data_format },
});

test.each([
  [[32, 28, 28, 16], op('Conv2D', { data_format: 'NHWC' }), 'batch height width channels'],
  [[32, 16, 28, 28], op('MaxPool', { data_format: '"NCHW"' }), 'batch channels height width'],
  [[8, 4, 32, 32, 1], op('Conv3D', { data_format: 'NDHWC' }), 'batch depth height width channels'],
  [[32, 28, 28, 16], op('Relu', { layer: 'conv1' }), 'batch height width channels'],
  [[3, 3, 16, 32], op('ReadVariableOp'), 'height width in out'],
  [[32, 10], op('Softmax', { layer: 'digits' }), 'batch classes'],
  [[32, 64], op('MatMul', { layer: 'dense' }), 'batch features'],
])('%j is named', (shape, of, names) => {
  expect(axisNames(shape, of)?.join(' ')).toBe(names);
});

test.each([
  [[8, 12, 64, 64], op('Softmax', { layer: 'attention' })], // heads of an attention
  [[64, 10], op('MatMul', { layer: 'dense', name: 'gradient_tape/model/dense/MatMul/MatMul_1' })], // the gradient of a kernel
  [[32, 10], op('BiasAdd', { data_format: 'NHWC' })], // no layer defines it
  [[5], op('Relu', { layer: 'dense' })],
])('%j is not known', (shape, of) => {
  expect(axisNames(shape, of)).toBeNull();
});
