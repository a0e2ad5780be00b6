import { expect, test } from 'vitest';
import { barHeights, histogramAxis, spanInBucket, symlogPosition } from './histogram_axis';

/** Two buckets on either side of the one for exact zeros. */
const EDGES = [-4, -2, -1, 1, 2, 4];
const ZERO = 2;
const AT = [0, 1, 2, 3, 4, 5];

const symlog = (edges: readonly number[], zero_bucket: number | null, rows?: { counts: number[] }[]) =>
  histogramAxis({ edges, zero_bucket, ...(rows && { rows }) }, 'symlog');

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
  expect(symlogPosition(EDGES, ZERO, AT, value)).toBeCloseTo(position);
});

test('positions never fall as values rise', () => {
  let before = -1;
  for (let value = -5; value <= 5; value += 0.01) {
    const position = symlogPosition(EDGES, ZERO, AT, Number(value.toFixed(2)));
    expect(position).toBeGreaterThanOrEqual(before);
    before = position;
  }
});

test('a symlog axis gives every octave, and exact zeros, the same width, and ticks at powers of ten and zero', () => {
  expect(symlog(EDGES, ZERO).at).toEqual(AT);
  const octaves = [1, 2, 4, 8, 16, 32, 64, 128];
  const axis = symlog([...octaves.map((edge) => -edge).reverse(), ...octaves], 7);
  expect(axis.ticks.map((tick) => tick.label)).toEqual(['-100', '-10', '0', '10', '100']);
});

test('a linear axis is the edges themselves', () => {
  expect(histogramAxis({ edges: [0, 1, 2], zero_bucket: null }, 'linear')).toEqual({
    scale: 'linear',
    unit: '',
    at: [0, 1, 2],
    breaks: [],
    ticks: [],
    zeroBucket: null,
  });
});

test('a wide axis keeps few ticks', () => {
  const positive = Array.from({ length: 120 }, (_, i) => 2 ** (i / 2 - 40));
  const axis = symlog([...positive.map((edge) => -edge).reverse(), ...positive], 119);
  expect(axis.ticks.length).toBeLessThan(11);
  axis.ticks.slice(1).forEach((tick, i) => {
    expect(tick.at - (axis.ticks[i]?.at ?? 0)).toBeGreaterThan(0.1 * axis.at.at(-1)!);
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
  expect(symlog(edges, null).ticks.map((tick) => tick.label)).toEqual(labels);
});

test('values in a single bucket are shown where they are in it', () => {
  const bucket = { edges: [2, 8], zero_bucket: null };
  const [from, width] = spanInBucket(bucket, { min: 2, max: 4 }, 400);
  expect([from, width]).toEqual([0, 200]);
  expect(spanInBucket(bucket, { min: 8, max: 8 }, 400)).toEqual([397, 3]);
  expect(spanInBucket({ edges: [-1e-30, 1e-30], zero_bucket: 0 }, { min: 0, max: 0 }, 400)).toEqual([200, 3]);
});

/** Half an octave is two native buckets: up to 1.5 times a power of two, and from there to the next one. */
const NATIVE = [1, 1.5, 2, 3, 4, 6, 8];

test('what is spread evenly over magnitudes is a flat line, and no sawtooth', () => {
  const axis = symlog(NATIVE, null);
  const counts = NATIVE.slice(1).map((right, i) => 1000 * Math.log2(right / NATIVE[i]!));
  for (const height of barHeights(counts, axis)) expect(height).toBeCloseTo(1000);
  expect(barHeights([3, 0, 4], { at: [0, 1, 2, 3], scale: 'linear' })).toEqual([3, 0, 4]);
});

test('decades that hold nothing in any row are cut to one octave, shorter gaps stay', () => {
  const edges = Array.from({ length: 41 }, (_, i) => 2 ** (i - 40));
  const counts = edges.slice(1).map((_, i) => (i === 0 || i === 2 || i > 30 ? 5 : 0));
  const axis = symlog(edges, null, [{ counts }]);
  expect(axis.breaks).toEqual([{ from: expect.closeTo(3), to: expect.closeTo(4) }]);
  expect(axis.at.at(-1)).toBeCloseTo(13);
  expect(axis.ticks.every(({ at }) => at <= 3 || at >= 3.99)).toBe(true);
  const other = counts.map((_, i) => (i === 15 ? 1 : 0));
  expect(symlog(edges, null, [{ counts }, { counts: other }]).breaks).toHaveLength(2);
  expect(symlog(edges, null).breaks).toEqual([]);
});

test('buckets that end at zero or infinity are one unit wide', () => {
  expect(symlog([0, 1, Number.POSITIVE_INFINITY], null).at).toEqual([0, 1, 2]);
  expect(symlog([], null).at).toEqual([]);
});
