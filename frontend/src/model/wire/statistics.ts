/** The counts and statistics of a summary, and their display names. */
export const COUNTS = ['nan', 'pos_inf', 'neg_inf', 'zero', 'negative', 'positive', 'subnormal'] as const;
export const STATISTICS = ['min', 'max', 'mean', 'std', 'l2', 'abs_max'] as const;

export type CountName = (typeof COUNTS)[number];
type StatisticName = (typeof STATISTICS)[number];
export type MeasureName = CountName | StatisticName;

export type Measures = Record<MeasureName, number> & { size: number };

export const LABELS: Record<MeasureName | 'size', string> = {
  size: 'elements',
  nan: 'NaN',
  pos_inf: '+Inf',
  neg_inf: '-Inf',
  zero: 'zeros',
  negative: 'negative',
  positive: 'positive',
  subnormal: 'subnormal',
  min: 'min',
  max: 'max',
  mean: 'mean',
  std: 'std',
  l2: 'L2 norm',
  abs_max: 'max |x|',
};

/** Numbers of a JSON answer; non-finite ones are strings. */
export type WireNumber = number | 'NaN' | 'Infinity' | '-Infinity';

export function toNumber(wire: WireNumber | null | undefined): number {
  return typeof wire === 'number' ? wire : Number(wire ?? Number.NaN);
}

export function infinities(measures: Pick<Measures, 'pos_inf' | 'neg_inf'>): number {
  return measures.pos_inf + measures.neg_inf;
}

/** Counts missing in an import are null in the answer, and NaN here. */
export const isUnknown = (count: number): boolean => Number.isNaN(count);

/** `3×4`, or a remark; if the size is unknown, so is the shape. */
export function shapeText({ shape, size }: { shape: readonly number[]; size: number }, times = '×'): string {
  if (isUnknown(size)) return 'unknown';
  return shape.length === 0 ? 'scalar' : shape.join(times);
}

/** Elements of unknown kind: runs imported from formats that only count some kinds. */
export function uncounted(measures: Measures): number {
  const counted = COUNTS.reduce((sum, name) => (name === 'subnormal' ? sum : sum + (measures[name] || 0)), 0);
  return Math.max(0, measures.size - counted) || 0;
}

export type Health = 'nan' | 'inf' | 'fine';

export function healthOf(nan: number, inf: number): Health {
  if (nan > 0) return 'nan';
  return inf > 0 ? 'inf' : 'fine';
}
