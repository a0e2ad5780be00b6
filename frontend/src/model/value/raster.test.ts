import { expect, test } from 'vitest';
import type { NpyArray } from '../../lib/arrays/npy';
import { finiteRange, gridColumns, gridRaster, type Paint, planeRaster, robustRange, symmetric } from './raster';
import { planSlice, Slice } from './slice';

const PAINT: Paint = { colormap: 'grey', range: { low: 0, high: 1 }, nan: '#ff0000', inf: '#ffaa00' };

function slice(shape: number[], mapping: Parameters<typeof planSlice>[1], values: number[]): Slice {
  const array: NpyArray = { kind: 'f8', shape, values: Float64Array.from(values) };
  return new Slice(array, planSlice(shape, mapping, 'image'));
}

const pixel = (raster: ReturnType<typeof planeRaster>, x: number, y: number) => [
  ...raster.rgba.slice(4 * (y * raster.width + x), 4 * (y * raster.width + x) + 4),
];

test('finite values take the scale, NaN and infinities their own colours', () => {
  const raster = planeRaster(slice([2, 2], ['y', 'x'], [0, 1, Number.NaN, Number.NEGATIVE_INFINITY]), PAINT);
  expect([pixel(raster, 0, 0), pixel(raster, 1, 0)]).toEqual([
    [0, 0, 0, 255],
    [255, 255, 255, 255],
  ]);
  expect([pixel(raster, 0, 1), pixel(raster, 1, 1)]).toEqual([
    [255, 0, 0, 255],
    [255, 170, 0, 255],
  ]);
  expect(raster.pick(1, 0)).toEqual({ index: [0, 1], offsets: [1] });
  expect(raster.place([1, 1])).toEqual([1, 1]);
});

test('three channels are red, green and blue', () => {
  const raster = planeRaster(slice([1, 1, 3], ['y', 'x', 'c'], [1, 0, 1]), PAINT);
  expect(pixel(raster, 0, 0)).toEqual([255, 0, 255, 255]);
  expect(raster.pick(0, 0)).toEqual({ index: [0, 0, ':'], offsets: [0, 1, 2] });
});

test('a colour with a NaN or an infinity is marked', () => {
  const raster = planeRaster(slice([1, 2, 3], ['y', 'x', 'c'], [1, Number.NaN, 1, 0, 0, Number.POSITIVE_INFINITY]), PAINT);
  expect([pixel(raster, 0, 0), pixel(raster, 1, 0)]).toEqual([
    [255, 0, 0, 255],
    [255, 170, 0, 255],
  ]);
});

test('pictures of three channels stand in a grid in their colours', () => {
  const raster = gridRaster(slice([2, 1, 1, 3], ['n', 'y', 'x', 'c'], [1, 0, 1, 0, 1, 0]), PAINT, false);
  const place = (n: number) => raster.place([n, 0, 0, 0]) as [number, number];
  expect([pixel(raster, ...place(0)), pixel(raster, ...place(1))]).toEqual([
    [255, 0, 255, 255],
    [0, 255, 0, 255],
  ]);
  expect(raster.pick(...place(1))).toEqual({ index: [1, 0, 0, ':'], offsets: [3, 4, 5] });
});

test('tiles are labelled with their index in the tensor', () => {
  const raster = gridRaster(slice([1, 2, 2], ['y', 'x', 'n'], [0, 1, 1, 0]), PAINT, false);
  expect(raster.tiles?.size).toEqual([2, 1]);
  expect(raster.tiles?.labels.map(({ text }) => text)).toEqual(['0', '1']);
  const second = raster.tiles!.labels[1]!;
  expect(raster.place([0, 0, 1])).toEqual([second.x, second.y]);
});

test('tiles stand beside each other with a gap that belongs to none', () => {
  const raster = gridRaster(slice([1, 2, 2], ['y', 'x', 'n'], [0, 1, 1, 0]), PAINT, false);
  const gap = raster.width > 2 ? [2, 0] : [0, 1];
  expect(pixel(raster, gap[0] as number, gap[1] as number)[3]).toBe(0);
  expect(raster.pick(gap[0] as number, gap[1] as number)).toBeNull();
  const place = raster.place([0, 1, 1]) as [number, number];
  expect(raster.pick(...place)).toEqual({ index: [0, 1, 1], offsets: [3] });
});

test('each tile may span its own range', () => {
  const data = slice([1, 2, 2], ['y', 'x', 'n'], [0, 0, 100, 1]);
  const last = gridRaster(data, { ...PAINT, range: { low: 0, high: 100 } }, true);
  expect(pixel(last, ...(last.place([0, 1, 1]) as [number, number]))).toEqual([255, 255, 255, 255]);
});

test.each([
  [16, 4],
  [7, 3],
  [64, 8],
  [1, 1],
])('%d square tiles take %d columns', (count, columns) => {
  expect(gridColumns(count, 28, 28, 1.2)).toBe(columns);
});

test('ranges are over the finite values only', () => {
  expect(finiteRange(Float64Array.of(3, Number.NaN, -1, Number.POSITIVE_INFINITY))).toEqual({ low: -1, high: 3 });
  expect(finiteRange(Float64Array.of(Number.NaN))).toBeNull();
  expect(robustRange(new Float64Array())).toBeNull();
});

test('a robust range leaves out outliers on both sides', () => {
  const values = Float64Array.from({ length: 1001 }, (_, i) => i);
  values[0] = -1e9;
  values[1000] = 1e9;
  expect(robustRange(values)).toEqual({ low: 10, high: 990 });
});

test('a symmetric range is centred on zero', () => {
  expect(symmetric({ low: -1, high: 3 })).toEqual({ low: -3, high: 3 });
});
