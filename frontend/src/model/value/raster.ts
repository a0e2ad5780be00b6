/** Values as pixels: finite ranges, colours, and the tiles of several planes. */

import { type ColormapName, colormap, colourIndex, parseColour } from '../../lib/colours';
import { dimOf } from './dims';
import type { Slice } from './slice';

/** The elements of one pixel: one, or the channels of a colour. */
export interface Picked {
  /** Index in the whole tensor; `:` for the channels. */
  index: (number | ':')[];
  /** Positions in the slice's array. */
  offsets: number[];
}

/** Elements painted as pixels, and the elements of each pixel. */
export interface Raster {
  width: number;
  height: number;
  rgba: Uint8ClampedArray<ArrayBuffer>;
  /** Null between tiles. */
  pick(x: number, y: number): Picked | null;
  /** Of a grid: the upper left pixel of each tile, and its index along the dimension of tiles; tiles have `size` pixels. */
  tiles?: { readonly size: readonly [number, number]; readonly labels: readonly { x: number; y: number; text: string }[] };
  /** The pixel of an element of the whole tensor, null if it is not shown. */
  place(index: readonly number[]): [number, number] | null;
}

export interface Paint {
  colormap: ColormapName;
  range: NumberRange;
  /** `#rrggbb` of NaN and of infinities. */
  nan: string;
  inf: string;
}

interface Pixel {
  y: number;
  x: number;
  n?: number;
}

type Brush = (rgba: Uint8ClampedArray, at: number, pixel: Pixel) => void;

/** Elements per pixel: three or four channels are red, green, blue (and opacity, which is ignored). */
function channelsOf(slice: Slice): number {
  const channels = slice.length('c');
  return channels < 3 ? 1 : channels;
}

function brush(slice: Slice, paint: Paint): Brush {
  const table = colormap(paint.colormap);
  const [nan, inf] = [parseColour(paint.nan), parseColour(paint.inf)];
  const { low, high } = paint.range;
  const colour = channelsOf(slice) > 1;
  return (rgba, at, pixel) => {
    const values = colour ? [0, 1, 2].map((c) => slice.number({ ...pixel, c })) : [slice.number(pixel)];
    if (values.some(Number.isNaN)) rgba.set(nan, at);
    else if (!values.every(Number.isFinite)) rgba.set(inf, at);
    else if (colour) for (const [c, value] of values.entries()) rgba[at + c] = colourIndex(value, low, high);
    else {
      const place = 3 * colourIndex(values[0] as number, low, high);
      rgba.set(table.subarray(place, place + 3), at);
    }
    rgba[at + 3] = 255;
  };
}

/** A matrix, one pixel per element or colour. */
export function planeRaster(slice: Slice, paint: Paint): Raster {
  const [width, height] = [slice.length('x'), slice.length('y')];
  const rgba = new Uint8ClampedArray(width * height * 4);
  const put = brush(slice, paint);
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) put(rgba, 4 * (y * width + x), { y, x });
  return { width, height, rgba, pick: (x, y) => picked(slice, { y, x }), place: (index) => pixel(slice, index) };
}

/** Tiles beside and below each other with a gap of one pixel; `each` scales every tile to its own range. */
export function gridRaster(slice: Slice, paint: Paint, each: boolean, aspect = 1.6): Raster {
  const [w, h, count] = [slice.length('x'), slice.length('y'), slice.length('n')];
  const columns = gridColumns(count, w, h, aspect);
  const [width, height] = [columns * (w + 1) - 1, Math.ceil(count / columns) * (h + 1) - 1];
  const rgba = new Uint8ClampedArray(width * height * 4);
  for (let n = 0; n < count; n++) {
    const put = brush(slice, each ? { ...paint, range: tileRange(slice, n) ?? paint.range } : paint);
    const [left, top] = [(n % columns) * (w + 1), Math.floor(n / columns) * (h + 1)];
    for (let y = 0; y < h; y++) for (let x = 0; x < w; x++) put(rgba, 4 * ((top + y) * width + left + x), { y, x, n });
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
  const across = dimOf(slice.request.mapping, 'n');
  const labels = Array.from({ length: count }, (_, n) => ({
    x: (n % columns) * (w + 1),
    y: Math.floor(n / columns) * (h + 1),
    text: String(slice.index({ y: 0, x: 0, n })[across] ?? n),
  }));
  return { width, height, rgba, pick, place, tiles: { size: [w, h], labels } };
}

function pixel(slice: Slice, index: readonly number[]): [number, number] | null {
  const at = slice.place(index);
  return at && [at.x, at.y];
}

/** Number of columns that gives about the requested proportion, preferably without gaps. */
export function gridColumns(count: number, width: number, height: number, aspect: number): number {
  const ideal = Math.max(1, Math.min(count, Math.round(Math.sqrt((count * aspect * (height + 1)) / (width + 1)))));
  for (let off = 0; off <= ideal * 0.4; off++) {
    for (const columns of [ideal - off, ideal + off]) if (columns > 0 && count % columns === 0) return columns;
  }
  return ideal;
}

function tileRange(slice: Slice, n: number): NumberRange | null {
  const [width, height, channels] = [slice.length('x'), slice.length('y'), channelsOf(slice)];
  const values = new Float64Array(width * height * channels);
  let at = 0;
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) for (let c = 0; c < channels; c++) values[at++] = slice.number({ y, x, c, n });
  return finiteRange(values);
}

function picked(slice: Slice, at: Pixel): Picked {
  const [index, channels] = [slice.index(at), channelsOf(slice)];
  const across = channels > 1 ? dimOf(slice.request.mapping, 'c') : -1;
  return {
    index: index.map((place, dim) => (dim === across ? ':' : place)),
    offsets: Array.from({ length: channels }, (_, c) => slice.offset({ ...at, c })),
  };
}

/** The finite range of values, and a robust one. */
export interface NumberRange {
  low: number;
  high: number;
}

export function finiteRange(values: Float64Array): NumberRange | null {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? { low, high } : null;
}

/** The range without `share` of the finite values at either end, so that outliers do not wash out the colours. */
export function robustRange(values: Float64Array, share = 0.01): NumberRange | null {
  const finite = values.filter(Number.isFinite).sort();
  if (finite.length === 0) return null;
  const at = (place: number) => finite[Math.round(place * (finite.length - 1))] as number;
  return { low: at(share), high: at(1 - share) };
}

/** A diverging scale is centred on zero. */
export function symmetric(range: NumberRange): NumberRange {
  const reach = Math.max(Math.abs(range.low), Math.abs(range.high));
  return { low: -reach, high: reach };
}
