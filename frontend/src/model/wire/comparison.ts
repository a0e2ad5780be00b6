/** Answers of `api/diff` (server/http_api.md), as far as the page uses them, and facts derived from them. */

import { type GraphData, rowOf } from './graph';

/** Worst first; a node of the graph is coloured by the verdict of its worst tensor. */
export const VERDICTS = ['diverges', 'amplified', 'inherited', 'noise', 'same'] as const;
type Verdict = (typeof VERDICTS)[number];

/** JSON has no NaN: such numbers are strings. */
type MetricNumber = number | string;

/** The metrics with columns in the table; a new one is one row. `worst`: which end is bad. */
export const METRIC_COLUMNS = [
  { id: 'max_abs', label: 'Max |A−B|', title: 'Largest |A - B|', worst: 'high' },
  { id: 'relative', label: 'Max |A−B| / scale', title: 'Largest |A − B| relative to the scale', worst: 'high' },
  { id: 'scale', label: 'Scale', title: 'max |x| of A and B', worst: 'high' },
  { id: 'mean_abs', label: 'Mean abs', title: 'Mean |A - B|', worst: 'high' },
  { id: 'rmse', label: 'RMSE', title: 'Root mean square difference', worst: 'high' },
  { id: 'l2', label: 'L2', title: 'L2 norm of the difference', worst: 'high' },
  { id: 'max_rel', label: 'Max elementwise rel.', title: 'Largest |A - B| / |A|', worst: 'high' },
  { id: 'mean_rel', label: 'Mean rel', title: 'Mean |A - B| / |A|', worst: 'high' },
  {
    id: 'max_either',
    label: 'Max min(abs, rel)',
    title: 'Largest min(|A - B|, |A - B| / |A|), as in Polygraphy',
    worst: 'high',
  },
  { id: 'cosine', label: 'Cosine', title: 'Cosine similarity', worst: 'low' },
  { id: 'sqnr', label: 'SQNR', title: 'Signal-to-quantization-noise ratio, dB', worst: 'low' },
  { id: 'psnr', label: 'PSNR', title: 'Peak signal-to-noise ratio, dB', worst: 'low' },
  { id: 'pass_1', label: '≤ 1 %', title: 'Share of elements within 1 % of A', worst: 'low' },
  { id: 'pass_01', label: '≤ 0.1 %', title: 'Share of elements within 0.1 % of A', worst: 'low' },
  { id: 'pass_001', label: '≤ 0.01 %', title: 'Share of elements within 0.01 % of A', worst: 'low' },
  { id: 'max_ulp', label: 'Max ULP', title: 'Distance in representable numbers of the coarser dtype', worst: 'high' },
  { id: 'mean_ulp', label: 'Mean ULP', title: 'Mean of the ULP distance', worst: 'high' },
  { id: 'kl', label: 'KL', title: 'KL divergence of the histograms, nats', worst: 'high' },
  { id: 'nonfinite_a', label: 'NaN/Inf in A', title: 'Elements that are NaN or infinite in A only', worst: 'high' },
  { id: 'nonfinite_b', label: 'NaN/Inf in B', title: 'Elements that are NaN or infinite in B only', worst: 'high' },
] as const;
export type MetricId = (typeof METRIC_COLUMNS)[number]['id'];

export interface TensorDifference {
  tensor: string;
  other: string;
  node: string;
  graph: string;
  other_graph: string;
  op_type: string;
  layer: string;
  matched: string;
  order: number;
  visit: number;
  visits: number;
  dtype_a: string;
  dtype_b: string;
  shape_a: number[];
  shape_b: number[];
  basis: 'values' | 'sample' | 'summaries' | 'shapes';
  /** If `basis` is `summaries`: why, in sentences. */
  missing?: string;
  /** Of the first divergence: the difference in words. */
  distance?: string;
  verdict: Verdict;
  limit: MetricNumber;
  metrics: Record<string, MetricNumber>;
}

export interface ComparisonSide {
  run: string;
  run_id: string;
  step: number;
  worker: string;
}

/** A tensor that diverges upstream of the one reported first; null if there is none. */
export function earlierThan(first: TensorDifference, rows: readonly TensorDifference[]): TensorDifference | null {
  const earlier = rows.filter((row) => row.verdict === 'diverges' && row.order < first.order);
  return sortDifferences(earlier, 'order')[0] ?? null;
}

/** Whether two sides are the same: a worker of a run at a step. */
export function sameSide(a: ComparisonSide, b: ComparisonSide): boolean {
  return a.run_id === b.run_id && a.step === b.step && a.worker === b.worker;
}

export interface Unmatched {
  node: string;
  op_type: string;
  captured: boolean;
  variable: string;
  frame: Frame | null;
}

interface Frame {
  file: string;
  line: number;
  text: string | null;
}

export interface Comparison {
  a: ComparisonSide;
  b: ComparisonSide;
  steps: number;
  graphs: {
    a: string;
    b: string;
    name: string;
    matched: Record<string, number>;
    only_a: number;
    only_b: number;
    renames: [string, string, number][];
    matches: Record<string, string>;
  }[];
  counts: Record<Verdict, number>;
  first: {
    /** Names the tensor, or a missing upstream tensor of the other side. */
    title: string;
    difference: TensorDifference;
    text: string;
    inputs: TensorDifference[];
    frame: Frame | null;
    frame_b: Frame | null;
  } | null;
  only_a: Unmatched[];
  only_b: Unmatched[];
  differ: boolean;
  notes: string[];
}

export interface ComparisonAnswer {
  comparison: Comparison | null;
  rows: TensorDifference[];
  total: number;
  working: boolean;
  progress: { done: number; total: number; doing: string };
  error: string | null;
  /** The fix. */
  hint?: string;
  /** Unreadable data of either side, which are missing in the answer: sentences. */
  damage?: string[];
}

export type CompareSort = 'order' | 'tensor' | 'verdict' | MetricId;

export function parseCompareSort(text: string): CompareSort {
  const metric = METRIC_COLUMNS.find((column) => column.id === text);
  return metric?.id ?? (text === 'tensor' || text === 'verdict' ? text : 'order');
}

/** A metric of a row; NaN where it is unknown. */
export function metricOf(row: TensorDifference, id: MetricId): number {
  return Number(row.metrics[id] ?? Number.NaN);
}

/** Metrics that are not a number if NaN or infinity differs: that exceeds any distance. */
const LARGEST: readonly string[] = ['max_abs', 'relative'] satisfies MetricId[];
/** Metrics that count NaN and infinities; the others only cover elements that are finite on both sides. */
const OVER_ALL: readonly string[] = ['scale', 'kl', 'nonfinite_a', 'nonfinite_b'] satisfies MetricId[];

/** Number of elements where NaN or infinity differs. */
export function nonfiniteApart(row: TensorDifference): number {
  return Number(row.metrics.nonfinite_a ?? 0) + Number(row.metrics.nonfinite_b ?? 0);
}

/** Number of elements that a metric does not cover because NaN or infinity differs. `instead`: there is no number at all. */
export function unreported(row: TensorDifference, id: MetricId): { count: number; instead: boolean } {
  return { count: OVER_ALL.includes(id) ? 0 : nonfiniteApart(row), instead: LARGEST.includes(id) };
}

/** Whether the distances of a row are lower bounds: not every element was compared. */
export function isBound(row: TensorDifference): boolean {
  return row.basis === 'summaries' || row.basis === 'sample';
}

/**
 * Rows sorted by data flow, name, verdict, or a metric with its worst first: rows with NaN differences, then numbers, unknown ones last.
 */
export function sortDifferences(rows: readonly TensorDifference[], sort: CompareSort): TensorDifference[] {
  const sorted = [...rows].sort((a, b) => comparison(a, b, sort) || a.order - b.order);
  return sort === 'tensor' ? sortedNaturally(sorted, (row) => row.tensor) : sorted;
}

/** The significant rows: not equal ones, and not those within rounding if others exceed it. */
export function telling(rows: readonly TensorDifference[], differ: boolean): TensorDifference[] {
  return rows.filter((row) => row.verdict !== 'same' && !(differ && row.verdict === 'noise'));
}

/** First sort key before the number of a metric: the count shown instead of it, or that there is one. */
function apartAs(row: TensorDifference, id: MetricId): number {
  const { count, instead } = unreported(row, id);
  return instead ? count : Math.min(count, 1);
}

function comparison(a: TensorDifference, b: TensorDifference, sort: CompareSort): number {
  if (sort === 'order' || sort === 'tensor') return 0;
  if (sort === 'verdict') return VERDICTS.indexOf(a.verdict) - VERDICTS.indexOf(b.verdict);
  const [apart, apartB] = [a, b].map((row) => apartAs(row, sort)) as [number, number];
  if (apart !== apartB) return apartB - apart;
  const [x, y] = [metricOf(a, sort), metricOf(b, sort)];
  if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
  const sign = METRIC_COLUMNS.find((column) => column.id === sort)?.worst === 'low' ? 1 : -1;
  return x === y ? 0 : sign * (x < y ? -1 : 1);
}

/** The worst verdict of each node of a graph of A or B, counted from 1 as in `VERDICTS`; 0 for nodes that were not compared. */
export function verdictsByRow(graph: GraphData, rows: readonly TensorDifference[], side: 'a' | 'b' = 'a'): Uint8Array {
  const found = new Uint8Array(graph.nodeCount);
  for (const difference of rows) {
    const [id, node] = side === 'a' ? [difference.graph, difference.node] : [difference.other_graph, difference.other.replace(/:\d+$/, '')];
    const row = id === graph.id ? rowOf(graph, node) : -1;
    const place = VERDICTS.indexOf(difference.verdict) + 1;
    if (row >= 0 && (found[row] === 0 || place < (found[row] as number))) found[row] = place;
  }
  return found;
}

/** A selection with at most two dimensions: the others at the index of an element, or the first. */
export function pictureSelection(shape: readonly number[], at: readonly number[] = []): string {
  return shape.map((_, axis) => (axis < shape.length - 2 ? String(at[axis] ?? 0) : ':')).join(',');
}

// Natural order of texts, as on the server: `AddN_2` before `AddN_10`.

/** Stable sort by a text of each. */
export function sortedNaturally<T>(entries: readonly T[], textOf: (entry: T) => string): T[] {
  const keyed = entries.map((entry) => ({ entry, text: textOf(entry), key: naturalKey(textOf(entry)) }));
  return keyed.sort((a, b) => compared(a.key, b.key) || compared(a.text, b.text)).map(({ entry }) => entry);
}

/** Prefixes each number with a character that grows with its number of digits, without leading zeros. */
function naturalKey(text: string): string {
  return text.replace(/0*(\d+)/g, (_, digits: string) => String.fromCharCode(48 + digits.length) + digits);
}

function compared(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
