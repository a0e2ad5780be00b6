import { describe, expect, test } from 'vitest';
import { measuresText } from '../../render/draw/draw_cards';
import { makeStep } from '../graph/graph_fixture';
import { rowOf } from '../wire/graph';
import { finitePoints } from '../wire/node_trends';
import { badText, cardStatistics, joinStatistics, meanText, measureText, NONFINITE } from './card_statistics';
import { written } from './layers_fixture';

const { graph, layers } = written([
  'x Placeholder',
  'kernel VarHandleOp',
  'net/dense/read ReadVariableOp net/dense kernel weight net/dense/kernel',
  'net/dense/product MatMul net/dense x,net/dense/read output',
  'net/dense/Relu Relu net/dense net/dense/product',
  'net/out/Sum Sum - net/dense/Relu loss',
  'slope Mul - net/out/Sum,x gradient net/dense/kernel',
  'change AssignSubVariableOp - kernel,slope update net/dense/kernel',
]);
const card = layers.cards.find(({ weights }) => weights.length > 0)!;

/** The statistics of the dense layer; of its tensors by name. */
function dense(numbers: Record<string, Record<string, number>>) {
  const rows = Object.entries(numbers).map(([name, columns]) => ({ node: rowOf(graph, name), ...columns }));
  return cardStatistics(layers, makeStep(rows))[card.id]!;
}

describe('norms of a layer', () => {
  const weight = { l2: 2 };

  test('are those of finite tensors', () => {
    const found = dense({ 'net/dense/read': weight, slope: { l2: 3 }, change: { l2: 1 } });
    expect([found.gradientNorm, found.updateRatio]).toEqual([3, 0.5]);
    expect(measuresText(found)).toBe('|grad| 3 · Δw/w 0.5');
  });

  test('have no number if half of a gradient is NaN, not the norm of the other half', () => {
    const found = dense({ 'net/dense/read': weight, slope: { l2: 0, nan: 256 }, change: { l2: 0, neg_inf: 1 } });
    expect(measuresText(found)).toBe('|grad| NaN/Inf · Δw/w NaN/Inf');
    expect(measuresText(joinStatistics([dense({ slope: { l2: 3 } }), found], found))).toBe('|grad| NaN/Inf · Δw/w NaN/Inf');
  });

  test('no update is 0 relative to a weight with NaN', () => {
    expect(dense({ 'net/dense/read': { l2: 2, nan: 1 }, change: { l2: 1 } }).updateRatio).toBe(NONFINITE);
  });

  test('are not shown if nothing was captured, or the weight is all zeros', () => {
    expect(measuresText(dense({ 'net/dense/read': { l2: 0 }, change: { l2: 1 } }))).toBe('');
    expect(measureText(Number.NaN)).toBe('');
  });
});

test('mean and std of an output with NaN have no number', () => {
  const output = graph.names.at(card.output.row);
  expect(meanText(dense({ [output]: { mean: 0.5, std: 0.25 } }))).toBe('0.5 ± 0.25');
  expect(meanText(dense({ [output]: { mean: 0, std: 0, nan: 4 } }))).toBe('NaN/Inf ± NaN/Inf');
  expect(meanText(dense({}))).toBe('');
});

test('a trend of norms has no point where elements are not finite', () => {
  const trend = { step: Float64Array.of(0, 1, 2), value: Float64Array.of(3, 0, 5), low: 0, high: 5 };
  expect(finitePoints({ ...trend, health: Uint8Array.of(1, 3, 0) })).toMatchObject({
    value: Float64Array.of(3, Number.NaN, 5),
    low: 3,
    high: 5,
  });
});

test('the count of NaN says that it is that of several tensors', () => {
  const one = dense({ 'net/dense/product': { nan: 4 } });
  expect(badText(one)).toBe('4 NaN at this step');
  const three = dense({ 'net/dense/read': { pos_inf: 2 }, 'net/dense/product': { nan: 4 }, slope: { nan: 256 }, change: { nan: 575 } });
  expect(badText(three)).toBe('835 NaN in 3 tensors at this step; first:');
  expect(graph.names.at(three.worst!.row)).toBe('net/dense/product');
  const infinite = dense({ slope: { pos_inf: 1 }, change: { neg_inf: 2 } });
  expect(badText(infinite)).toBe('3 Inf in 2 tensors at this step; first:');
  expect(badText(joinStatistics([infinite, one, three], three))).toBe('839 NaN in 4 tensors at this step; first:');
});
