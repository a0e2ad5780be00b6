import { expect, test } from 'vitest';
import { signedLog } from './signed_log';

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
