import { expect, test } from 'vitest';
import { canBeDrawn, valueHistogram } from './value_histogram';

test('what is not finite is counted apart', () => {
  const found = valueHistogram(Float64Array.of(1, Number.NaN, 3, Number.POSITIVE_INFINITY, 2.5, Number.NEGATIVE_INFINITY));
  expect(found).toMatchObject({ finite: 3, nan: 1, posInf: 1, negInf: 1, min: 1, median: 2.5, max: 3 });
  expect([found.edges[0], found.edges[60], found.counts[0], found.counts[59]]).toEqual([1, 3, 1, 1]);
  expect(found.counts.reduce((sum, count) => sum + count, 0)).toBe(3);
  expect(found.mean).toBeCloseTo(6.5 / 3);
});

test('whole numbers have a bin each', () => {
  const { edges, counts } = valueHistogram(Float64Array.of(2, 2, 4));
  expect([edges, counts]).toEqual([
    [1.5, 2.5, 3.5, 4.5],
    [2, 0, 1],
  ]);
});

test('one value, and none', () => {
  expect(valueHistogram(Float64Array.of(0.5, 0.5)).counts).toEqual([2]);
  expect(valueHistogram(Float64Array.of(0.5, 0.5)).std).toBe(0);
  const none = valueHistogram(Float64Array.of(Number.NaN));
  expect([none.counts, none.mean, none.median]).toEqual([[], Number.NaN, Number.NaN]);
});

test('numbers whose squares are infinite, or nothing, have their spread', () => {
  for (const scale of [1e300, 1e-300]) {
    const found = valueHistogram(Float64Array.of(scale, 3 * scale));
    expect([found.mean / scale, found.std / scale]).toEqual([expect.closeTo(2), expect.closeTo(1)]);
    expect(canBeDrawn(found)).toBe(scale > 1);
  }
  expect(canBeDrawn(valueHistogram(Float64Array.of(0.5, 0.5)))).toBe(true);
  expect(canBeDrawn(valueHistogram(Float64Array.of(Number.NaN)))).toBe(false);
});
