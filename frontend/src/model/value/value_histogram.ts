/**
 * The histogram of fetched elements: equal bins from the smallest to the largest finite one; non-finite elements are counted separately.
 */
export interface ValueHistogram {
  edges: number[];
  counts: number[];
  finite: number;
  nan: number;
  posInf: number;
  negInf: number;
  min: number;
  median: number;
  max: number;
  mean: number;
  std: number;
}

/** Whole numbers with a smaller range have one bin each. */
const BINS = 60;

export function valueHistogram(values: Float64Array): ValueHistogram {
  const finite = values.filter(Number.isFinite).sort();
  const count = (test: (value: number) => boolean) => values.reduce((sum, value) => sum + Number(test(value)), 0);
  const [min, max] = [finite[0] ?? Number.NaN, finite[finite.length - 1] ?? Number.NaN];
  const mean = finite.reduce((sum, value) => sum + value / finite.length, 0);
  // Relative to the largest: squares of 1e300 or 1e-300 would overflow or underflow.
  const scale = Math.max(Math.abs(min), Math.abs(max)) || 1;
  const variance = finite.reduce((sum, value) => sum + (value / scale - mean / scale) ** 2 / finite.length, 0);
  return {
    ...binned(finite, min, max),
    finite: finite.length,
    nan: count(Number.isNaN),
    posInf: count((value) => value === Number.POSITIVE_INFINITY),
    negInf: count((value) => value === Number.NEGATIVE_INFINITY),
    min,
    median: middle(finite),
    max,
    mean: finite.length === 0 ? Number.NaN : mean,
    std: finite.length === 0 ? Number.NaN : scale * Math.sqrt(variance),
  };
}

/** Minimum range of an axis: plotly places no ticks below about 1e-300. */
const LEAST_SPAN = 1e-290;

/** Whether an axis can show the range of the values. */
export function canBeDrawn({ edges }: Pick<ValueHistogram, 'edges'>): boolean {
  const span = (edges[edges.length - 1] ?? 0) - (edges[0] ?? 0);
  return span >= LEAST_SPAN && Number.isFinite(span);
}

function binned(sorted: Float64Array, min: number, max: number): { edges: number[]; counts: number[] } {
  if (sorted.length === 0) return { edges: [], counts: [] };
  const whole = max - min < BINS && sorted.every(Number.isInteger);
  const [low, bins] = whole ? [min - 0.5, max - min + 1] : [min, max > min ? BINS : 1];
  // A single value gets a visible bin.
  const high = whole ? max + 0.5 : max > min ? max : min + Math.max(1e-12, Math.abs(min) * 1e-6);
  const width = (high - low) / bins;
  const counts = new Array<number>(bins).fill(0);
  for (const value of sorted) {
    const bin = Math.max(0, Math.min(bins - 1, Math.floor((value - low) / width)));
    counts[bin] = (counts[bin] as number) + 1;
  }
  return { edges: Array.from({ length: bins + 1 }, (_, i) => (i === bins ? high : low + i * width)), counts };
}

function middle(sorted: Float64Array): number {
  const half = sorted.length >> 1;
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 === 1 ? (sorted[half] as number) : ((sorted[half - 1] as number) + (sorted[half] as number)) / 2;
}
