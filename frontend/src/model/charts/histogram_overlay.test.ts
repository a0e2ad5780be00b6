import { expect, test } from 'vitest';
import type { HistogramRow, Histograms } from '../wire/answers';
import { MOST_OUTLINES, outlinesInFront, overlay, overlayOfTensors } from './histogram_overlay';

function row(step: number, counts: number[]): HistogramRow {
  return { step, counts, visit: 0, worker: 'w', nan: 0, pos_inf: 0, neg_inf: 0, zero: 0, min: 0, max: 0 };
}

function series(edges: number[], zero_bucket: number | null, rows: HistogramRow[]): Histograms {
  return { tensor: 'a:0', graph: 'g', approximate: false, edges, zero_bucket, rows };
}

const steps = (found: ReturnType<typeof overlay>) => found.outlines.map(({ step }) => step);

test('an outline stands on the ground, and tells range and count of each bucket', () => {
  const { outlines, top, of } = overlay(series([0, 1, 2, 4], 0, [row(3, [900, 5, 7])]), null, 3, 'symlog');
  expect(outlines[0]?.x).toEqual([0, 0.5, 1.5, 2.5, 3]);
  expect(outlines[0]?.y).toEqual([0, 900, 5, 7, 0]);
  expect(outlines[0]?.buckets.slice(1, -1)).toEqual([
    { range: 'exactly 0', count: 900 },
    { range: '1 … 2', count: 5 },
    { range: '2 … 4', count: 7 },
  ]);
  expect([top, of]).toEqual([7, 1]); // exact zeros do not set the height
});

test('of many steps some are drawn, the first, the last and the current one among them, which is drawn last', () => {
  const many = series(
    [1, 2],
    null,
    Array.from({ length: 100 }, (_, i) => row(i, [i])),
  );
  const found = overlay(many, null, 37, 'symlog');
  expect(found.outlines).toHaveLength(MOST_OUTLINES + 1);
  expect([steps(found)[0], steps(found).at(-1), found.of]).toEqual([0, 99, 100]);
  expect(found.outlines.map(({ age }) => age)).toEqual(found.outlines.map(({ age }) => age).sort((a, b) => a - b));
  expect(outlinesInFront(found.outlines, 37).at(-1)?.step).toBe(37);
});

test('the current step is there though the server left it out, by buckets of its own', () => {
  const data = { ...series([1, 2, 4], null, [row(0, [3, 4]), row(9, [5, 6])]), thinned_from: 500 };
  const own = series([-8, -4, 4, 8], 1, [row(5, [1, 2, 3])]);
  const { axis, outlines, of } = overlay(data, own, 5, 'symlog');
  expect(outlines.map(({ step }) => step)).toEqual([0, 5, 9]);
  expect(of).toBe(500);
  expect(axis.zeroBucket).toBe(1); // -8 … -4, zeros, 1 … 2, 2 … 4, 4 … 8
  const counts = outlines.map(({ y }) => y.slice(1, -1));
  expect(counts).toEqual([
    [0, 0, 3, 4, 0],
    [1, 2, 0, 0, 3],
    [0, 0, 5, 6, 0],
  ]);
});

test('zeros beside values of one sign keep their place when a step is joined', () => {
  const left = overlay(series([-2, -1], null, [row(0, [3])]), series([-4, -2, 0], 1, [row(1, [1, 5])]), 1, 'symlog');
  expect(left.outlines.map(({ y }) => y)).toEqual([
    [0, 0, 3, 0, 0],
    [0, 1, 0, 5, 0],
  ]);
  const zeros = overlay(series([-1, 1], 0, [row(0, [3])]), series([1, 2], null, [row(1, [4])]), 1, 'symlog');
  expect(zeros.outlines.map(({ y }) => y)).toEqual([
    [0, 3, 0, 0],
    [0, 0, 4, 0],
  ]);
});

test('linear bins of another range are joined without losing an element', () => {
  const data = series([0, 1, 2], null, [row(0, [10, 20])]);
  const { axis, outlines } = overlay(data, series([2, 3, 4], null, [row(1, [6, 8])]), 1, 'linear');
  expect(axis.at).toEqual([0, 2, 4]);
  expect(outlines.map(({ y }) => y)).toEqual([
    [0, 30, 0, 0],
    [0, 0, 14, 0],
  ]);
});

test('exact zeros do not set the height of linear bins either', () => {
  const relu = series([-1, 0, 1, 2], 1, [{ ...row(0, [0, 907, 5]), zero: 900 }]);
  expect(overlay(relu, null, 0, 'linear').top).toBe(7);
  expect(overlay(relu, series([0, 4], 0, [{ ...row(1, [9]), zero: 9 }]), 1, 'linear').top).toBeCloseTo(5 + 7 / 3); // of what is not zero
  expect(overlay(series([-1, 1], 0, [{ ...row(0, [9]), zero: 9 }]), null, 0, 'linear').top).toBe(9);
});

test('nothing to draw is no error', () => {
  expect(overlay(series([0], null, [row(0, [])]), null, 0, 'symlog').outlines[0]).toMatchObject({ x: [], y: [] });
  expect(overlay(series([0], null, []), null, 0, 'linear').outlines).toEqual([]);
});

test('tensors of any size and buckets stand over each other by their shares', () => {
  const small = series([0, 1, 2], 0, [row(0, [1, 3])]);
  const large = series([1, 4], null, [row(9, [600])]);
  const empty = series([], null, [row(0, [])]);
  const { axis, outlines, top } = overlayOfTensors([small, large, empty]);
  expect(axis.at).toEqual([0, 1, 2, 3]);
  expect(outlines.map((outline) => outline?.y)).toEqual([[0, 25, 25, 75, 75, 0, 0, 0], [0, 0, 0, 50, 50, 50, 50, 0], undefined]);
  expect(top).toBe(75);
});
