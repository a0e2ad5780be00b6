import { describe, expect, test } from 'vitest';
import { makeGraph } from '../graph/graph_fixture';
import {
  earlierThan,
  metricOf,
  parseCompareSort,
  pictureSelection,
  sortDifferences,
  sortedNaturally,
  type TensorDifference,
  telling,
  unreported,
  verdictsByRow,
} from './comparison';

function difference(tensor: string, more: Partial<TensorDifference> = {}): TensorDifference {
  const node = tensor.replace(/:\d+$/, '');
  const common = { other: tensor, graph: 'g', other_graph: 'h', op_type: 'Add', layer: '', matched: 'name', order: 0, visit: 0, visits: 1 };
  const types = { dtype_a: 'float32', dtype_b: 'float32', shape_a: [2], shape_b: [2], basis: 'values' as const, limit: 1e-6 };
  return { tensor, node, ...common, ...types, verdict: 'same', metrics: {}, ...more };
}

const ROWS = [
  difference('a:0', { order: 0, verdict: 'same', metrics: { cosine: 1, max_abs: 0 } }),
  difference('b:0', { order: 1, verdict: 'diverges', metrics: { cosine: 0.5, max_abs: 2 } }),
  difference('c:0', { order: 2, verdict: 'inherited', metrics: { cosine: 'NaN', max_abs: 'Infinity' } }),
];
const names = (rows: readonly TensorDifference[]) => rows.map((row) => row.tensor.charAt(0)).join('');

test('what rounding explains is listed where nothing goes beyond it', () => {
  const rows = [...ROWS, difference('d:0', { verdict: 'noise' })];
  expect([true, false].map((differ) => names(telling(rows, differ)))).toEqual(['bc', 'bcd']);
});

describe('sorting', () => {
  test.each([
    ['order', 'abc'],
    ['verdict', 'bca'],
    ['max_abs', 'cba'],
    ['cosine', 'bac'],
    ['tensor', 'abc'],
  ] as const)('by %s has the worst first and the unknown last', (sort, expected) => {
    expect(names(sortDifferences([...ROWS].reverse(), sort))).toBe(expected);
  });

  test('by name counts as one does, and has the visits of a tensor in data flow', () => {
    const rows = ['AddN_10:0', 'AddN_2:0', 'AddN_10:0'].map((tensor, at) => difference(tensor, { order: 2 - at }));
    expect(sortDifferences(rows, 'tensor').map((row) => [row.tensor, row.order])).toEqual([
      ['AddN_2:0', 1],
      ['AddN_10:0', 0],
      ['AddN_10:0', 2],
    ]);
  });

  test('what NaN tells apart is worse than any distance, and has none', () => {
    const rows = [...ROWS, difference('d:0', { order: 3, verdict: 'amplified', metrics: { max_abs: 0, cosine: 1, nonfinite_a: 1 } })];
    expect((['max_abs', 'relative', 'cosine', 'scale'] as const).map((sort) => names(sortDifferences(rows, sort))[0])).toEqual([...'ddda']);
    expect(unreported(rows[3] as TensorDifference, 'max_abs')).toEqual({ count: 1, instead: true });
    expect(unreported(rows[3] as TensorDifference, 'cosine')).toEqual({ count: 1, instead: false });
    expect(unreported(rows[3] as TensorDifference, 'nonfinite_a').count).toBe(0);
  });

  test('what an address names and is no column sorts by data flow', () => {
    expect([parseCompareSort('cosine'), parseCompareSort('verdict'), parseCompareSort('beauty')]).toEqual(['cosine', 'verdict', 'order']);
  });
});

test('a metric that JSON cannot hold is a number again', () => {
  expect(metricOf(ROWS[2] as TensorDifference, 'max_abs')).toBe(Number.POSITIVE_INFINITY);
  expect(metricOf(ROWS[0] as TensorDifference, 'kl')).toBeNaN();
});

test('a node takes the worst verdict of its outputs, in the current graph only', () => {
  const graph = makeGraph(['a', 'b', 'c']);
  const rows = [
    difference('b:0', { verdict: 'noise', graph: graph.id }),
    difference('b:1', { verdict: 'diverges', graph: graph.id }),
    difference('c:0', { verdict: 'diverges', graph: 'another' }),
  ];
  expect([...verdictsByRow(graph, rows)]).toEqual([0, 1, 0]);
});

test.each([
  [[], ''],
  [[4], ':'],
  [[4, 5], ':,:'],
  [[2, 3, 4, 5], '0,0,:,:'],
])('of the shape %j the picture shows %s', (shape, expected) => {
  expect(pictureSelection(shape)).toBe(expected);
});

test('the picture opens where the worst element lies', () => {
  expect(pictureSelection([4, 2, 5], [3, 0, 0])).toBe('3,:,:');
});

test('what diverges before the tensor that is told first is found', () => {
  const rows = ['e:0', 'f:0', 'g:0'].map((name, i) => difference(name, { order: 9 - i, verdict: i === 2 ? 'inherited' : 'diverges' }));
  expect(earlierThan(rows[0] as TensorDifference, rows)?.tensor).toBe('f:0');
  expect(earlierThan(rows[1] as TensorDifference, rows)).toBeNull();
});

test.each([
  [['AddN', 'AddN_1', 'AddN_2', 'AddN_10', 'block_2/a', 'block_10/a']],
  [['layer', 'layer_0', 'layer_00', 'layer_01', 'layer_1', 'layer_1/a', 'layer_2', 'layer_010']],
])('numbers count, zeros in front of them do not: %j', (names) => {
  expect(sortedNaturally([...names].reverse(), (name) => name)).toEqual(names);
});
