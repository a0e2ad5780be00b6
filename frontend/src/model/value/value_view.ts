import { type Layout, planeAxes } from './dims';

/** Ways to look at a value, and how each lays a tensor out. */
export const VALUE_MODES = ['table', 'heatmap', 'line', 'image', 'histogram'] as const;
export type ValueMode = (typeof VALUE_MODES)[number];

export const LAYOUT_OF: Record<ValueMode, Layout> = {
  table: 'plane',
  heatmap: 'plane',
  line: 'line',
  image: 'image',
  histogram: 'plane',
};

/** Shorter sides than that are read as numbers. */
const SMALLEST_PICTURE = 3;

/** The way that shows most of a tensor at first sight: pictures for what has height and width, else numbers. */
export function naturalMode(shape: readonly number[], dtype: string): ValueMode {
  if (dtype === 'string' || shape.length < 3) return 'table';
  const [y, x] = planeAxes(shape);
  if (Math.min(shape[y] as number, shape[x] as number) < SMALLEST_PICTURE) return 'table';
  const channelsLast = x < shape.length - 1;
  if (channelsLast) return 'image';
  return shape.length === 4 ? 'heatmap' : 'table';
}
