/**
 * A dim mapping says what each dimension of a tensor does in a view: the fixed index it is cut at, or an axis:
 * `y` down, `x` across, `c` colour channels, `n` a grid of tiles. `[0, "y", "x"]` shows the first matrix of a stack.
 */
export type Axis = 'y' | 'x' | 'c' | 'n';
export type DimMapping = (number | Axis)[];

/** How a view lays a tensor out. */
export type Layout = 'plane' | 'line' | 'image';

/** The mapping a view starts with. */
export function defaultMapping(shape: readonly number[], layout: Layout): DimMapping {
  const mapping: DimMapping = shape.map(() => 0);
  const rank = shape.length;
  if (rank === 0) return mapping;
  if (layout === 'line' || rank === 1) {
    mapping[rank - 1] = layout === 'plane' ? 'y' : 'x';
    return mapping;
  }
  const [y, x] = layout === 'image' ? imageAxes(shape) : [rank - 2, rank - 1];
  mapping[y as number] = 'y';
  mapping[x as number] = 'x';
  if (layout === 'image' && rank > 2) mapping[rank - 1] = isColour(shape) ? 'c' : 'n';
  return mapping;
}

/** Height and width of an image-like tensor: the first two of a kernel or a single image, else the two before the channels. */
function imageAxes(shape: readonly number[]): [number, number] {
  const rank = shape.length;
  if (rank === 2) return [0, 1];
  if (rank === 3) return [0, 1];
  return isKernel(shape) ? [0, 1] : [rank - 3, rank - 2];
}

/** A convolution kernel is [height, width, in, out] with a small window. */
function isKernel(shape: readonly number[]): boolean {
  const [height = 0, width = 0] = shape;
  return shape.length === 4 && height <= 11 && width <= 11 && height * width > 1;
}

function isColour(shape: readonly number[]): boolean {
  const channels = shape[shape.length - 1];
  return !isKernel(shape) && (channels === 1 || channels === 3 || channels === 4);
}

/** Gives dimension `dim` the axis; the dimension that had it takes over what `dim` did before, so no axis is lost. */
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

/** Length of an axis; 1 where no dimension is mapped to it. */
export function axisLength(shape: readonly number[], mapping: DimMapping, axis: Axis): number {
  const dim = dimOf(mapping, axis);
  return dim < 0 ? 1 : (shape[dim] as number);
}

/** The part of an axis that is wanted: elements `start`, `start + step`, … before `stop`. */
export interface Span {
  start: number;
  stop: number;
  step: number;
}

export function spanLength(span: Span): number {
  return Math.max(0, Math.ceil((span.stop - span.start) / span.step));
}

/** The server's selection for a mapping: fixed indices, and `:` or a span for every axis. */
export function toSelection(mapping: DimMapping, spans: Partial<Record<Axis, Span>> = {}): string {
  return mapping.map((role) => (typeof role === 'number' ? String(role) : spanText(spans[role]))).join(',');
}

function spanText(span: Span | undefined): string {
  if (!span) return ':';
  return span.step === 1 ? `${span.start}:${span.stop}` : `${span.start}:${span.stop}:${span.step}`;
}

/**
 * Strides, in elements of the answered slice, for each axis. The slice keeps the order of the dimensions that were not fixed,
 * so `["x", "y"]` reads it transposed. Axes without a dimension get stride 0.
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

/** Whether a mapping fits a shape: one role a dimension, indices in range, no axis twice. */
export function fits(mapping: DimMapping, shape: readonly number[]): boolean {
  const axes = mapping.filter((role) => typeof role !== 'number');
  return (
    mapping.length === shape.length &&
    new Set(axes).size === axes.length &&
    mapping.every((role, i) => typeof role !== 'number' || role < Math.max(1, shape[i] as number))
  );
}

/** The full index of an element: where the axes stand at `at`, the fixed dimensions at their index. */
export function fullIndex(mapping: DimMapping, at: Partial<Record<Axis, number>>): number[] {
  return mapping.map((role) => (typeof role === 'number' ? role : (at[role] ?? 0)));
}
