import { expect, test } from 'vitest';
import { DictColumn } from '../../lib/arrays/columns';
import type { StepStatistics } from '../wire/step_statistics';
import { written } from './layers_fixture';
import { scopeFacts, tellingRow, weightsInside, worstTensor } from './scope_facts';

const { graph, layers } = written([
  'x Placeholder',
  'kernel VarHandleOp',
  'net/dense/read ReadVariableOp net/dense kernel weight net/dense/kernel',
  'net/dense/axis Const',
  'net/dense/product MatMul net/dense x,net/dense/read output',
  'net/dense/Relu Relu net/dense net/dense/product',
  'net/out/Sum Sum - net/dense/Relu,net/dense/axis loss',
  'slope Mul - net/out/Sum,x gradient net/dense/kernel',
]);
const dense = scopeFacts(graph, 'net/dense');
const names = (places: readonly { row: number }[]): string[] => places.map(({ row }) => graph.names.at(row));

test('what flows in and out of a scope, without constants and handles', () => {
  expect(dense.count).toBe(4);
  expect(names(dense.inputs)).toEqual(['x']);
  expect(names(dense.outputs)).toEqual(['net/dense/Relu']);
  expect(dense.ops).toContainEqual(['MatMul', 1]);
  expect(scopeFacts(graph, 'net/den').count).toBe(0);
});

test('its weights, and the node that tells where it was made', () => {
  expect(weightsInside(layers, dense.inside).map(({ variable }) => variable)).toEqual(['net/dense/kernel']);
  expect(weightsInside(layers, scopeFacts(graph, 'net/out').inside)).toEqual([]);
  expect(graph.names.at(tellingRow(graph, dense, 'net/dense'))).toBe('net/dense/product');
});

test('the worst tensor: NaN before infinities before large numbers', () => {
  const step = (numbers: Record<string, number[]>): StepStatistics =>
    ({
      count: 3,
      node: Int32Array.of(2, 4, 5),
      slot: Int32Array.of(0, 0, 0),
      dtype: DictColumn.of(['float32', 'float32', numbers.whole ? 'int32' : 'float32']),
      column: (name: string) => Float64Array.from(numbers[name] ?? [0, 0, 0]),
    }) as never;
  const worst = (numbers: Record<string, number[]>): number | undefined => worstTensor(dense.inside, step(numbers))?.row;
  expect(worst({ abs_max: [1, 9, 3] })).toBe(4);
  expect(worst({ abs_max: [1, 2, 9], whole: [] })).toBe(4); // a shape's extents are no magnitude
  expect(worst({ abs_max: [1, 9, 3], pos_inf: [0, 0, 2] })).toBe(5);
  expect(worst({ abs_max: [1, 9, 3], pos_inf: [0, 0, 2], nan: [1, 0, 0] })).toBe(2);
  expect(worst({ abs_max: [Number.NaN, Number.NaN, 0] })).toBe(5);
  expect(worstTensor(dense.inside, null)).toBeNull();
});
