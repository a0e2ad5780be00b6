import type { NpyArray } from '../../lib/arrays/npy';
import { type Axis, axisLength, type DimMapping, fullIndex, type Layout, type Span, sliceStrides, spanLength, toSelection } from './dims';
import { numberAt } from './elements';

/** A request to the server: a mapping and the requested part of each axis. */
interface SliceRequest {
  mapping: DimMapping;
  spans: Partial<Record<Axis, Span>>;
  selection: string;
}

/** Maximum number of elements in a view; 16 MiB, the server's limit, hold this many of the widest dtype (16 bytes). */
export const MOST_ELEMENTS = 1 << 20;

/** More tiles than that are too small to see. */
const MOST_TILES = 1024;

/** Longest side of a heatmap and length of a line before elements are skipped. */
const MOST_SIDE: Record<Layout, number> = { plane: 2048, line: 8192, image: 2048 };

/** The whole plane if it is small enough, else evenly spaced elements of it (a grid shows its first tiles instead). */
export function planSlice(shape: readonly number[], mapping: DimMapping, layout: Layout): SliceRequest {
  const [height, width] = [axisLength(shape, mapping, 'y'), axisLength(shape, mapping, 'x')];
  const channels = axisLength(shape, mapping, 'c');
  const step = { y: Math.ceil(height / MOST_SIDE[layout]) || 1, x: Math.ceil(width / MOST_SIDE[layout]) || 1 };
  const tile = () => Math.ceil(height / step.y) * Math.ceil(width / step.x) * channels;
  // The longer axis is thinned first, so that a short one stays whole.
  while (tile() > MOST_ELEMENTS) step[height / step.y > width / step.x ? 'y' : 'x']++;
  const spans: Partial<Record<Axis, Span>> = {};
  if (mapping.includes('y')) spans.y = { start: 0, stop: height, step: step.y };
  if (mapping.includes('x')) spans.x = { start: 0, stop: width, step: step.x };
  if (mapping.includes('n')) {
    const fitting = Math.max(1, Math.floor(MOST_ELEMENTS / Math.max(1, tile())));
    spans.n = { start: 0, stop: Math.min(axisLength(shape, mapping, 'n'), fitting, MOST_TILES), step: 1 };
  }
  return { mapping, spans, selection: toSelection(mapping, spans) };
}

/** A fetched part of a tensor, addressed by positions along its axes. */
export class Slice {
  private readonly strides: Record<Axis, number>;
  private readonly lengths: Record<Axis, number>;

  constructor(
    readonly array: NpyArray,
    readonly request: SliceRequest,
  ) {
    this.strides = sliceStrides(array.shape, request.mapping);
    const axes = request.mapping.filter((role): role is Axis => typeof role !== 'number');
    this.lengths = { y: 1, x: 1, c: 1, n: 1 };
    axes.forEach((axis, i) => {
      this.lengths[axis] = array.shape[i] ?? 1;
    });
  }

  length(axis: Axis): number {
    return this.lengths[axis];
  }

  /** Position of an element in the array. */
  offset(at: Partial<Record<Axis, number>>): number {
    const { y, x, c, n } = this.strides;
    return (at.y ?? 0) * y + (at.x ?? 0) * x + (at.c ?? 0) * c + (at.n ?? 0) * n;
  }

  number(at: Partial<Record<Axis, number>>): number {
    return numberAt(this.array, this.offset(at));
  }

  /** The element's index in the whole tensor. */
  index(at: Partial<Record<Axis, number>>): number[] {
    const place = (axis: Axis) => {
      const span = this.request.spans[axis];
      return (span?.start ?? 0) + (at[axis] ?? 0) * (span?.step ?? 1);
    };
    return fullIndex(this.request.mapping, { y: place('y'), x: place('x'), c: place('c'), n: place('n') });
  }

  /** Position of an element of the whole tensor on the axes; null if it is not in this slice. */
  place(index: readonly number[]): Record<Axis, number> | null {
    const at: Record<Axis, number> = { y: 0, x: 0, c: 0, n: 0 };
    for (const [dim, role] of this.request.mapping.entries()) {
      const wanted = index[dim] as number;
      if (typeof role === 'number') {
        if (role !== wanted) return null;
        continue;
      }
      const { start = 0, step = 1 } = this.request.spans[role] ?? {};
      at[role] = Math.floor((wanted - start) / step);
      if (at[role] < 0 || at[role] >= this.lengths[role]) return null;
    }
    return at;
  }

  /** Distance of two shown elements; 1 means that none is skipped. */
  get stride(): number {
    const { y, x } = this.request.spans;
    return Math.max(y?.step ?? 1, x?.step ?? 1);
  }

  /** All elements as numbers, in the array's order. */
  numbers(): Float64Array {
    const count = this.array.shape.reduce((product, length) => product * length, 1);
    return Float64Array.from({ length: count }, (_, i) => numberAt(this.array, i));
  }
}

export function tilesLeftOut(slice: Slice, shape: readonly number[]): number {
  const span = slice.request.spans.n;
  return span ? axisLength(shape, slice.request.mapping, 'n') - spanLength(span) : 0;
}
