import { describe, expect, test } from 'vitest';
import { DictColumn } from '../../lib/arrays/columns';
import type { GraphData } from '../wire/graph';
import { byteScale, type NodeStatistic, rangeOf, valueScale } from '../wire/value_scale';
import { makeGraph, makeStep, treeOf } from './graph_fixture';
import {
  bytesByEntity,
  bytesOfNode,
  elementsOf,
  FINE,
  healthByEntity,
  INF,
  NAN,
  NOT_CAPTURED,
  rowsByNode,
  valuesByEntity,
} from './node_values';

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
  const scaleOf = (name: NodeStatistic, ...values: number[]) => valueScale(name, rangeOf(name, Float64Array.from(values)));
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

const NONE = Number.NaN;

/** A graph of nodes in a scope: dtype, shape and number of outputs of each. */
function graphOf(...nodes: readonly (readonly [string, string, number])[]): GraphData {
  return {
    ...makeGraph(nodes.map((_, i) => `a/n${i}`)),
    dtypes: DictColumn.of(nodes.map(([dtype]) => dtype)),
    shapes: DictColumn.of(nodes.map(([, shape]) => shape)),
    slots: Int32Array.from(nodes, ([, , slots]) => slots),
  };
}

const bytes = (graph: GraphData, step: ReturnType<typeof makeStep> | null) => [...bytesByEntity(treeOf(graph), graph, step)];

test('shapes as graphs write them', () => {
  expect(['scalar', '32×10', '7', '32×?', ''].map(elementsOf)).toEqual([1, 320, 7, NONE, NONE]);
});

test('what the graph declares, where all of it is known', () => {
  const graph = graphOf(
    ['float32', '4×8', 1],
    ['bfloat16', 'scalar', 1],
    ['int64', '?×8', 1],
    ['string', '3', 1],
    ['float32', '2', 2],
    ['', '', 0],
  );
  expect(bytes(graph, null).slice(0, 6)).toEqual([128, 2, NONE, NONE, NONE, NONE]);
});

test('what was captured is what it was; of several visits that of one, of several outputs their sum', () => {
  const graph = graphOf(['float32', '?×8', 1], ['float32', '2', 2], ['float32', '5', 2]);
  const step = makeStep([
    { node: 0, size: 60 },
    { node: 1, size: 2 },
    { node: 1, size: 3 },
    { node: 2, size: 5 },
  ]);
  step.visits[0] = 3;
  const found = bytes(graph, step);
  expect(found.slice(0, 3)).toEqual([80, 20, NONE]);
  expect(found.at(-1)).toBe(80); // the scope: its largest node
  const rows = [[0], [1, 2], [3]];
  expect(rows.map((own, node) => bytesOfNode(graph, step, own, node))).toEqual([80, 20, NONE]);
  expect(bytesOfNode(graphOf(['float64', '3', 1]), null, [0], 0)).toBe(24);
});

test('ticks are powers of two, and the ends hold what lies beyond', () => {
  const scale = byteScale(Float64Array.from([40, 1000, 3000, 900_000, NONE]));
  expect(scale.ticks.map(({ label }) => label)).toEqual(['32 B', '512 B', '8 KiB', '64 KiB', '1 MiB']);
  expect([scale.place(32), scale.place(2 ** 20), scale.place(1), scale.place(2 ** 40)]).toEqual([0, 1, 0, 1]);
});

test('ends beyond which there are sizes say so', () => {
  const labels = byteScale(Float64Array.from([1, ...new Array<number>(300).fill(1024), 2 ** 40])).ticks.map(({ label }) => label);
  expect([labels[0], labels.at(-1)]).toEqual(['≤ 1 KiB', '≥ 16 KiB']);
});

test('without any size there is a scale all the same', () => {
  expect(byteScale(Float64Array.from([NONE])).ticks.map(({ label }) => label)).toEqual(['1 B', '2 B', '4 B', '8 B', '16 B']);
});
