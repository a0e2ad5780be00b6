import { expect, test } from 'vitest';
import { chartUnit, countTick, logTicks, signedLog, unitTitle } from './axes';

const labels = (...columns: number[][]) => logTicks(columns).map(({ label }) => label);

test('powers of ten as far apart as there is room for, the largest among them', () => {
  expect(labels([1e-6, 1e-3], [100, Number.NaN, 0])).toEqual(['1e-4', '0.1', '100']);
  expect(labels([0.5, 20])).toEqual(['1', '10']);
});

test('within one power of ten also twos and fives, and within less than that the ends', () => {
  expect(labels([0.15, 0.6])).toEqual(['0.2', '0.5']);
  expect(labels([1.2, 1.4])).toEqual(['1.2', '1.4']);
  expect(labels([3])).toEqual(['3']);
  expect(labels([0, Number.NaN])).toEqual([]);
});

test.each([
  [0, 1],
  [1, 1],
  [3, 1],
  [4, 2],
  [31, 20],
  [32, 20],
  [1_000_000, 500_000],
])('up to %i counts have a tick every %i', (most, expected) => {
  expect(countTick(most)).toBe(expected);
});

test('denormals and numbers near the largest are drawn in units of a power of ten', () => {
  const tiny = chartUnit([[Number.NaN, 2e-310], [-4.5e-311]]);
  expect(tiny.text).toBe('× 1e-310');
  expect(tiny.at(2e-310)).toBeCloseTo(2);
  expect(tiny.at(-4.5e-311)).toBeCloseTo(-0.45);
  const least = chartUnit([[5e-324]]);
  expect([least.text, least.at(5e-324)]).toEqual(['× 1e-324', expect.closeTo(4.94, 2)]);
  const huge = chartUnit([[1.7e308, Number.POSITIVE_INFINITY]]);
  expect([huge.text, huge.at(1.7e308)]).toEqual(['× 1e308', expect.closeTo(1.7)]);
  expect(huge.at(Number.NaN)).toBeNaN();
});

test('others are drawn as they are', () => {
  for (const columns of [[[1e-200, 3]], [[0]], [[]], [], [[Number.NaN]]]) {
    const unit = chartUnit(columns);
    expect([unit.text, unit.at(0.1)]).toEqual(['', 0.1]);
  }
  expect(unitTitle('mean', chartUnit([[1]]))).toBe('mean');
  expect(unitTitle('mean', chartUnit([[1e-300]]))).toBe('mean × 1e-300');
});

test('powers of ten are a unit apart on both sides of zero', () => {
  const { at, ticks } = signedLog([
    [-100, 0.1],
    [Number.NaN, Number.POSITIVE_INFINITY, 0],
  ]);
  expect([-100, -1, 0, 0.05, 0.1, 1, 10].map(at)).toEqual([-4, -2, 0, 0.5, 1, 2, 3]);
  expect(ticks.map((tick) => tick.label)).toContain('0');
  expect(ticks.map((tick) => tick.at)).toEqual([-4, -2, 0, 2, 4]);
});

test('one sign takes one side', () => {
  const { ticks } = signedLog([[1e-3, 1]]);
  expect(ticks.map((tick) => tick.label)).toEqual(['0', '0.001', '0.01', '0.1', '1']);
});

test.each([
  [
    [3.87, 3.94],
    ['3.88', '3.9', '3.92', '3.94'],
  ],
  [
    [-52, -23],
    ['-50', '-45', '-40', '-35', '-30', '-25'],
  ],
  [[2, 2], ['2']],
])('%j, less than powers of ten apart, has ticks of its own', (column, labels) => {
  const { at, ticks } = signedLog([column]);
  expect(ticks.map((tick) => tick.label)).toEqual(labels);
  expect(ticks.every((tick) => tick.at >= at(column[0]!) && tick.at <= at(column[1]!))).toBe(true);
});

test('nothing but zeros', () => {
  expect(signedLog([[0, Number.NaN]]).at(0)).toBe(0);
});
