import { type ColormapName, colormap, colourIndex, rgb } from '../lib/colormap';
import type { Slice } from './slice';
import { finiteRange, type ValueRange } from './value_range';

/** Elements painted as pixels, and which element a pixel is. */
export interface Raster {
  width: number;
  height: number;
  rgba: Uint8ClampedArray<ArrayBuffer>;
  /** Full index and value of the element at a pixel, null between tiles. */
  pick(x: number, y: number): { index: number[]; value: number; offset: number } | null;
  /** The pixel of an element of the whole tensor, null where it is not shown. */
  place(index: readonly number[]): [number, number] | null;
}

export interface Paint {
  colormap: ColormapName;
  range: ValueRange;
  /** `#rrggbb` of NaN and of infinities. */
  nan: string;
  inf: string;
}

type Brush = (rgba: Uint8ClampedArray, at: number, value: number) => void;

function brush(paint: Paint): Brush {
  const table = colormap(paint.colormap);
  const [nan, inf] = [rgb(paint.nan), rgb(paint.inf)];
  return (rgba, at, value) => {
    if (Number.isFinite(value)) {
      const place = 3 * colourIndex(value, paint.range.low, paint.range.high);
      rgba.set(table.subarray(place, place + 3), at);
    } else rgba.set(Number.isNaN(value) ? nan : inf, at);
    rgba[at + 3] = 255;
  };
}

/** A matrix, one pixel an element. */
export function planeRaster(slice: Slice, paint: Paint): Raster {
  const [width, height] = [slice.length('x'), slice.length('y')];
  const rgba = new Uint8ClampedArray(width * height * 4);
  const put = brush(paint);
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) put(rgba, 4 * (y * width + x), slice.number({ y, x }));
  return { width, height, rgba, pick: (x, y) => picked(slice, { y, x }), place: (index) => pixel(slice, index) };
}

/** Colour channels: one is grey, three or four are red, green, blue (and opacity, which is ignored). */
export function colourRaster(slice: Slice, paint: Paint): Raster {
  const channels = slice.length('c');
  if (channels < 3) return planeRaster(slice, paint);
  const [width, height] = [slice.length('x'), slice.length('y')];
  const rgba = new Uint8ClampedArray(width * height * 4);
  const { low, high } = paint.range;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = 4 * (y * width + x);
      for (let c = 0; c < 3; c++) rgba[at + c] = colourIndex(slice.number({ y, x, c }), low, high);
      rgba[at + 3] = 255;
    }
  }
  return { width, height, rgba, pick: (x, y) => picked(slice, { y, x, c: 0 }), place: (index) => pixel(slice, index) };
}

/** Tiles beside and below each other with a gap of one pixel; `each` scales every tile to its own range. */
export function gridRaster(slice: Slice, paint: Paint, each: boolean, aspect = 1.6): Raster {
  const [w, h, count] = [slice.length('x'), slice.length('y'), slice.length('n')];
  const columns = gridColumns(count, w, h, aspect);
  const [width, height] = [columns * (w + 1) - 1, Math.ceil(count / columns) * (h + 1) - 1];
  const rgba = new Uint8ClampedArray(width * height * 4);
  for (let n = 0; n < count; n++) {
    const put = brush(each ? { ...paint, range: tileRange(slice, n) ?? paint.range } : paint);
    const [left, top] = [(n % columns) * (w + 1), Math.floor(n / columns) * (h + 1)];
    for (let y = 0; y < h; y++) for (let x = 0; x < w; x++) put(rgba, 4 * ((top + y) * width + left + x), slice.number({ y, x, n }));
  }
  const pick = (px: number, py: number) => {
    const [column, row] = [Math.floor(px / (w + 1)), Math.floor(py / (h + 1))];
    const [x, y, n] = [px - column * (w + 1), py - row * (h + 1), row * columns + column];
    return x < w && y < h && n < count ? picked(slice, { y, x, n }) : null;
  };
  const place = (index: readonly number[]): [number, number] | null => {
    const at = slice.place(index);
    return at && [(at.n % columns) * (w + 1) + at.x, Math.floor(at.n / columns) * (h + 1) + at.y];
  };
  return { width, height, rgba, pick, place };
}

function pixel(slice: Slice, index: readonly number[]): [number, number] | null {
  const at = slice.place(index);
  return at && [at.x, at.y];
}

/** Columns that bring the grid near the wanted proportion of width to height, without gaps where a near number allows it. */
export function gridColumns(count: number, width: number, height: number, aspect: number): number {
  const ideal = Math.max(1, Math.min(count, Math.round(Math.sqrt((count * aspect * (height + 1)) / (width + 1)))));
  for (let off = 0; off <= ideal * 0.4; off++) {
    for (const columns of [ideal - off, ideal + off]) if (columns > 0 && count % columns === 0) return columns;
  }
  return ideal;
}

function tileRange(slice: Slice, n: number): ValueRange | null {
  const values = new Float64Array(slice.length('x') * slice.length('y'));
  for (let i = 0; i < values.length; i++) values[i] = slice.number({ x: i % slice.length('x'), y: Math.floor(i / slice.length('x')), n });
  return finiteRange(values);
}

function picked(slice: Slice, at: { y: number; x: number; c?: number; n?: number }): { index: number[]; value: number; offset: number } {
  return { index: slice.index(at), value: slice.number(at), offset: slice.offset(at) };
}
