/**
 * A dim mapping gives each dimension of a tensor its role in a view: a fixed index, or an axis: `y` down, `x` across, `c` colour
 * channels, `n` a grid of tiles. `[0, "y", "x"]` shows the first matrix of a stack.
 */
export type Axis = 'y' | 'x' | 'c' | 'n';
export type DimMapping = (number | Axis)[];

/** Layout of a tensor in a view. */
export type Layout = 'plane' | 'line' | 'image';

/** The initial mapping of a view. */
export function defaultMapping(shape: readonly number[], layout: Layout): DimMapping {
  const mapping: DimMapping = shape.map(() => 0);
  const rank = shape.length;
  if (rank === 0) return mapping;
  if (layout === 'line' || rank === 1) {
    mapping[rank - 1] = layout === 'plane' ? 'y' : 'x';
    return mapping;
  }
  const [y, x] = layout === 'image' && rank !== 4 ? imageAxes(shape) : planeAxes(shape);
  mapping[y] = 'y';
  mapping[x] = 'x';
  if (layout !== 'image' || rank < 3) return mapping;
  // Dimensions other than channels are stacks: the heads of an attention, the images of a batch.
  if (x === rank - 1) mapping[y - 1] = 'n';
  else mapping[rank - 1] = isColour(shape) ? 'c' : 'n';
  return mapping;
}

/**
 * The two most useful dimensions: height and width of images `[n, height, width, channels]` and kernels `[height, width, in, out]`,
 * queries and keys of an attention `[n, heads, queries, keys]` (by which pair is closer to a square), else the last two.
 */
function planeAxes(shape: readonly number[]): [number, number] {
  const rank = shape.length;
  const long = rank > 4 ? shape.flatMap((length, dim) => (length > 1 ? [dim] : [])) : [];
  if (long.length >= 2) return [long.at(-2) as number, long.at(-1) as number];
  if (isKernel(shape)) return [0, 1];
  if (rank === 4 && squareness(shape, 1) >= squareness(shape, 2) && (shape[1] as number) > 1) return [1, 2];
  if (rank === 3 && isColour(shape) && shape[2] !== 1 && Math.min(shape[0] as number, shape[1] as number) >= 8) return [0, 1];
  return [Math.max(0, rank - 2), rank - 1];
}

/** Dimensions of size one that are not an axis of the view: there is nothing to move. */
export function foldedDims(shape: readonly number[], mapping: DimMapping): number[] {
  return shape.flatMap((length, dim) => (length === 1 && typeof mapping[dim] === 'number' ? [dim] : []));
}

/** `4–31`, `0, 2`: a short list of dimensions. */
export function dimsText(dims: readonly number[]): string {
  const runs: [number, number][] = [];
  for (const dim of dims) {
    const last = runs.at(-1);
    if (last && last[1] === dim - 1) last[1] = dim;
    else runs.push([dim, dim]);
  }
  return runs.map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`)).join(', ');
}

/** How close dimension `dim` and the next one are: 1 is a square. */
function squareness(shape: readonly number[], dim: number): number {
  const [a, b] = [shape[dim] as number, shape[dim + 1] as number];
  return Math.min(a, b) / Math.max(1, a, b);
}

/** Height and width for a picture: of a single image, else the two before the channels; equal last ones are a stack. */
function imageAxes(shape: readonly number[]): [number, number] {
  const rank = shape.length;
  if (rank === 3 && squareness(shape, 1) > squareness(shape, 0)) return isColour(shape) ? [0, 1] : [1, 2];
  return rank <= 3 ? [0, 1] : [rank - 3, rank - 2];
}

/** A convolution kernel is [height, width, in, out] with a small window. */
export function isKernel(shape: readonly number[]): boolean {
  const [height = 0, width = 0] = shape;
  if (shape.length !== 4 || Math.max(height, width) > 11 || height * width <= 1) return false;
  if (squareness(shape, 0) < squareness(shape, 1)) return false;
  // Eight heads of eight sequences are not an 8×8 window: if other pairs are squares too, a window must be odd and square.
  return Math.max(squareness(shape, 1), squareness(shape, 2)) < 1 || (height === width && height % 2 === 1);
}

function isColour(shape: readonly number[]): boolean {
  return !isKernel(shape) && canBeColour(shape[shape.length - 1] as number);
}

/** Whether this number of channels is a colour: grey, RGB, or RGB with opacity. */
export function canBeColour(channels: number): boolean {
  return channels === 1 || channels === 3 || channels === 4;
}

/** The axes of each layout. */
const AXES: Record<Layout, readonly Axis[]> = { plane: ['y', 'x'], line: ['x'], image: ['y', 'x', 'c', 'n'] };

/** A mapping adapted to a view: missing roles, and colours with too many channels, become an index; null if no axis remains. */
export function shownBy(layout: Layout, mapping: DimMapping, shape: readonly number[]): DimMapping | null {
  const roles = mapping.map((role, dim) => {
    const shown = typeof role === 'number' || (AXES[layout].includes(role) && (role !== 'c' || canBeColour(shape[dim] as number)));
    return shown ? role : 0;
  });
  return roles.every((role) => typeof role === 'number') ? null : roles;
}

/** A mapping as in an address: `0,y,x`. */
export function mappingText(mapping: DimMapping): string {
  return mapping.join(',');
}

/** Parses `mappingText`; null if invalid. `fits` checks whether it matches a tensor. */
export function parseMapping(text: string): DimMapping | null {
  const roles = text.split(',').map((part) => (/^\d{1,15}$/.test(part) ? Number(part) : part));
  const known = roles.every((role) => typeof role === 'number' || /^[yxcn]$/.test(role));
  return known && roles.length <= 64 ? (roles as DimMapping) : null;
}

/** Gives dimension `dim` the axis; its previous dimension takes over the role of `dim`, so no axis is lost. */
export function assignAxis(mapping: DimMapping, dim: number, axis: Axis): DimMapping {
  const before = mapping[dim] as number | Axis;
  if (before === axis) return mapping;
  return mapping.map((role, i) => {
    if (i === dim) return axis;
    return role === axis ? (typeof before === 'number' ? 0 : before) : role;
  });
}

/** Fixes dimension `dim` at an index. */
export function assignIndex(mapping: DimMapping, dim: number, index: number): DimMapping {
  return mapping.map((role, i) => (i === dim ? index : role));
}

export function dimOf(mapping: DimMapping, axis: Axis): number {
  return mapping.indexOf(axis);
}

/** Length of an axis; 1 if no dimension is mapped to it. */
export function axisLength(shape: readonly number[], mapping: DimMapping, axis: Axis): number {
  const dim = dimOf(mapping, axis);
  return dim < 0 ? 1 : (shape[dim] as number);
}

/** The requested part of an axis: elements `start`, `start + step`, … before `stop`. */
export interface Span {
  start: number;
  stop: number;
  step: number;
}

export function spanLength(span: Span): number {
  return Math.max(0, Math.ceil((span.stop - span.start) / span.step));
}

/** The server's selection for a mapping: fixed indices, and `:` or a range for every axis. */
export function toSelection(mapping: DimMapping, spans: Partial<Record<Axis, Span>> = {}): string {
  return mapping.map((role) => (typeof role === 'number' ? String(role) : spanText(spans[role]))).join(',');
}

function spanText(span: Span | undefined): string {
  if (!span) return ':';
  return span.step === 1 ? `${span.start}:${span.stop}` : `${span.start}:${span.stop}:${span.step}`;
}

/**
 * Strides, in elements of the received slice, for each axis. The slice keeps the order of its dimensions, so `["x", "y"]` reads it
 * transposed. Axes without a dimension have stride 0.
 */
export function sliceStrides(sliceShape: readonly number[], mapping: DimMapping): Record<Axis, number> {
  const strides: Record<Axis, number> = { y: 0, x: 0, c: 0, n: 0 };
  const axes = mapping.filter((role): role is Axis => typeof role !== 'number');
  let stride = 1;
  for (let i = axes.length - 1; i >= 0; i--) {
    strides[axes[i] as Axis] = stride;
    stride *= sliceShape[i] as number;
  }
  return strides;
}

/** Whether a mapping fits a shape: one role per dimension, indices in range, no axis twice. */
export function fits(mapping: DimMapping, shape: readonly number[]): boolean {
  const axes = mapping.filter((role) => typeof role !== 'number');
  return (
    mapping.length === shape.length &&
    new Set(axes).size === axes.length &&
    mapping.every((role, i) => typeof role !== 'number' || role < Math.max(1, shape[i] as number))
  );
}

/** The full index of an element: axes at the positions in `at`, fixed dimensions at their index. */
export function fullIndex(mapping: DimMapping, at: Partial<Record<Axis, number>>): number[] {
  return mapping.map((role) => (typeof role === 'number' ? role : (at[role] ?? 0)));
}

/** Kinds of value views, and the layout of each. */
export const VALUE_MODES = ['table', 'heatmap', 'line', 'image', 'histogram'] as const;
export type ValueMode = (typeof VALUE_MODES)[number];

export const LAYOUT_OF: Record<ValueMode, Layout> = {
  table: 'plane',
  heatmap: 'plane',
  line: 'line',
  image: 'image',
  histogram: 'plane',
};

/** Shorter sides are read as numbers. */
const SMALLEST_PICTURE = 3;

/** The most useful view: pictures for tensors with height and width, else numbers. */
export function defaultMode(shape: readonly number[], dtype: string): ValueMode {
  if (dtype === 'string' || shape.length < 3) return 'table';
  const [y, x] = planeAxes(shape);
  if (Math.min(shape[y] as number, shape[x] as number) < SMALLEST_PICTURE) return 'table';
  const channelsLast = x < shape.length - 1;
  if (channelsLast) return 'image';
  return shape.length === 4 ? 'heatmap' : 'table';
}
