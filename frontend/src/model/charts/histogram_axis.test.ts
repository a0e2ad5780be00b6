import { expect, test } from 'vitest';
import { histogramAxis, spanInBucket, symlogPosition } from './histogram_axis';

/** Two buckets on either side of the one for exact zeros. */
const EDGES = [-4, -2, -1, 1, 2, 4];
const ZERO = 2;

test.each([
  [-4, 0],
  [-2, 1],
  [-1.5, 1 + Math.log(1.5 / 2) / Math.log(1 / 2)],
  [0, 2.5],
  [1, 3],
  [2, 4],
  [4, 5],
  [99, 5],
  [-99, 0],
])('%d stands at %d', (value, position) => {
  expect(symlogPosition(EDGES, ZERO, value)).toBeCloseTo(position);
});

test('positions never fall as values rise', () => {
  let before = -1;
  for (let value = -5; value <= 5; value += 0.01) {
    const position = symlogPosition(EDGES, ZERO, Number(value.toFixed(2)));
    expect(position).toBeGreaterThanOrEqual(before);
    before = position;
  }
});

test('a symlog axis gives every bucket the same width and ticks at powers of ten and zero', () => {
  expect(histogramAxis(EDGES, ZERO, 'symlog').at).toEqual([0, 1, 2, 3, 4, 5]);
  const octaves = [1, 2, 4, 8, 16, 32, 64, 128];
  const axis = histogramAxis([...octaves.map((edge) => -edge).reverse(), ...octaves], 7, 'symlog');
  expect(axis.ticks.map((tick) => tick.label)).toEqual(['-100', '-10', '0', '10', '100']);
});

test('a linear axis is the edges themselves', () => {
  expect(histogramAxis([0, 1, 2], null, 'linear')).toEqual({ scale: 'linear', unit: '', at: [0, 1, 2], ticks: [], zeroBucket: null });
});

test('a wide axis keeps few ticks', () => {
  const positive = Array.from({ length: 120 }, (_, i) => 2 ** (i / 2 - 40));
  const axis = histogramAxis([...positive.map((edge) => -edge).reverse(), ...positive], 119, 'symlog');
  expect(axis.ticks.length).toBeLessThan(11);
  axis.ticks.slice(1).forEach((tick, i) => {
    expect(tick.at - (axis.ticks[i]?.at ?? 0)).toBeGreaterThan(0.1 * axis.at.length);
  });
  expect(axis.ticks.map((tick) => tick.at)).toEqual(axis.ticks.map((tick) => tick.at).sort((a, b) => a - b));
});

test.each([
  [
    [-96, -64, -48, -32, -24, -16, -12, -8, -6],
    ['-50', '-20', '-10'],
  ],
  [
    [16, 32, 64],
    ['20', '50'],
  ],
  [
    [0.09375, 0.125],
    ['0.0938', '0.1', '0.125'],
  ],
  [
    [3, 4],
    ['3', '4'],
  ],
])('an axis of few powers of ten has other ticks: %j', (edges, labels) => {
  expect(histogramAxis(edges, null, 'symlog').ticks.map((tick) => tick.label)).toEqual(labels);
});

test('values in a single bucket are shown where they are in it', () => {
  const bucket = { edges: [2, 8], zero_bucket: null };
  const [from, width] = spanInBucket(bucket, { min: 2, max: 4 }, 400);
  expect([from, width]).toEqual([0, 200]);
  expect(spanInBucket(bucket, { min: 8, max: 8 }, 400)).toEqual([397, 3]);
  expect(spanInBucket({ edges: [-1e-30, 1e-30], zero_bucket: 0 }, { min: 0, max: 0 }, 400)).toEqual([200, 3]);
});
