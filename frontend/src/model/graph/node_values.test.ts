import { describe, expect, test } from 'vitest';
import type { StatisticName } from '../wire/graph';
import { rangeOf, valueScale } from '../wire/value_scale';
import { makeGraph, makeStep, treeOf } from './graph_fixture';
import { FINE, healthByEntity, INF, NAN, NOT_CAPTURED, rowsByNode, valuesByEntity } from './node_values';

const tree = treeOf(makeGraph(['a/p', 'a/q', 'b/t', 'b/u', 'c']));
const step = makeStep([
  { node: 0, mean: -5, min: -9, abs_max: 9, zero: 5 },
  { node: 1, mean: 2, min: 1, abs_max: 3 },
  { node: 0, mean: 1, min: -1, abs_max: 4, nan: 2 },
  { node: 2, neg_inf: 1, mean: 0, min: 0, abs_max: 0 },
  { node: 99, nan: 1 },
]);
const [root, a, b] = [tree.nodeCount, tree.nodeCount + 1, tree.nodeCount + 2];

describe('a step on the scope tree', () => {
  test('a scope is as healthy as the worst in it', () => {
    const health = healthByEntity(tree, step);
    expect([...health.subarray(0, 5)]).toEqual([NAN, FINE, INF, NOT_CAPTURED, NOT_CAPTURED]);
    expect([health[root], health[a], health[b]]).toEqual([NAN, NAN, INF]);
    expect(healthByEntity(tree, null).every((state) => state === NOT_CAPTURED)).toBe(true);
  });

  test('a scope takes the most telling value', () => {
    const at = (values: Float64Array) => [values[0], values[a], values[b], values[4]];
    expect(at(valuesByEntity(tree, step, 'abs_max'))).toEqual([9, 9, 0, Number.NaN]);
    expect(at(valuesByEntity(tree, step, 'min'))).toEqual([-9, -9, 0, Number.NaN]);
    expect(at(valuesByEntity(tree, step, 'mean'))).toEqual([-5, -5, 0, Number.NaN]);
    expect(valuesByEntity(tree, step, 'zero_share')[0]).toBe(0.5);
    expect(valuesByEntity(tree, step, 'inf_share')[2]).toBe(0.1);
  });

  test('finds the rows of a node', () => {
    const { start, rows } = rowsByNode(5, step);
    expect([...rows.subarray(start[0], start[1])]).toEqual([0, 2]);
    expect([...rows.subarray(start[4], start[5])]).toEqual([]);
  });
});

describe('valueScale', () => {
  const scaleOf = (name: StatisticName, ...values: number[]) => valueScale(name, rangeOf(name, Float64Array.from(values)));
  const labels = (scale: ReturnType<typeof valueScale>) => scale.ticks.map(({ label }) => label);

  test('spreads magnitudes evenly by factors', () => {
    const scale = scaleOf('abs_max', 0.01, 0.1, 1, 10, 100, Number.NaN);
    expect(scale.place(0.01)).toBe(0);
    expect(scale.place(1)).toBeCloseTo(0.5);
    expect(scale.place(100)).toBeCloseTo(1);
    expect(scale.place(0)).toBe(0);
    expect(scale.place(1e9)).toBe(1);
    expect(scale.diverging).toBe(false);
  });

  test('puts zero in the middle of signed values', () => {
    const scale = scaleOf('mean', -4, -1, 0, 1, 2);
    expect([-4, 0, 4].map(scale.place)).toEqual([0, 0.5, 1]);
    expect(scale.place(1)).toBeCloseTo(0.75);
    expect(scale.ticks.map((tick) => tick.label)).toEqual(['-4', '-1', '0', '1', '4']);
  });

  test('shares run from 0 to 1, whatever the values', () => {
    expect(labels(scaleOf('zero_share', 0.2))).toEqual(['0 %', '25 %', '50 %', '75 %', '100 %']);
  });

  test('an end beyond which there are values says so', () => {
    const range = { least: 1e-9, low: 1e-4, high: 1, largest: 1, zeros: false };
    expect(labels(valueScale('std', range))).toEqual(['≤ 0.0001', '0.001', '0.01', '0.1', '1']);
    expect(labels(valueScale('std', { ...range, least: 1e-4, largest: 3 })).at(-1)).toBe('≥ 1');
    const signed = { least: -9, low: -4, high: 2, largest: 3, zeros: true };
    expect(labels(valueScale('mean', signed))).toEqual(['≤ -4', '-1', '0', '1', '4']);
    expect(labels(valueScale('mean', { ...signed, least: -4, largest: 5 }))).toEqual(['-4', '-1', '0', '1', '≥ 4']);
  });

  test('a scale of factors says where 0 is', () => {
    expect(labels(scaleOf('std', 0, 0.0001, 1))[0]).toBe('0 … 0.0001');
    expect(labels(scaleOf('std', 0.0001, 1))[0]).toBe('0.0001');
  });

  test.each(['mean', 'std', 'nan_share'] as const)('%s of nothing is still a scale', (name) => {
    const scale = scaleOf(name);
    expect(scale.ticks.every((tick) => Number.isFinite(tick.place))).toBe(true);
    expect(Number.isFinite(scale.place(1))).toBe(true);
  });
});
