import type { Measures } from '../../model/wire/statistics';

export interface MockSummary extends Measures {
  /** Native histogram: bucket id (FORMAT.md) to count. */
  buckets: Map<number, number>;
}

const FLOAT = new Float32Array(1);
const BITS = new Uint32Array(FLOAT.buffer);

function bucketId(value: number): number {
  FLOAT[0] = value;
  return (BITS[0] as number) >>> 22;
}

/** Left edge of a bucket's magnitude; ids of 512 and more are the mirror images. */
function magnitude(id: number): number {
  BITS[0] = (id & 511) << 22;
  return FLOAT[0] as number;
}

export function summarize(values: Float32Array): MockSummary {
  const out: MockSummary = {
    size: values.length,
    nan: 0,
    pos_inf: 0,
    neg_inf: 0,
    zero: 0,
    negative: 0,
    positive: 0,
    subnormal: 0,
    min: Number.NaN,
    max: Number.NaN,
    mean: Number.NaN,
    std: Number.NaN,
    l2: Number.NaN,
    abs_max: Number.NaN,
    buckets: new Map(),
  };
  let [count, sum, squares, low, high] = [0, 0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    if (Number.isNaN(value)) out.nan++;
    else if (value === Number.POSITIVE_INFINITY) out.pos_inf++;
    else if (value === Number.NEGATIVE_INFINITY) out.neg_inf++;
    else {
      count++;
      sum += value;
      squares += value * value;
      if (value < low) low = value;
      if (value > high) high = value;
      tally(out, value);
    }
  }
  if (count === 0) return out;
  const mean = sum / count;
  const std = Math.sqrt(Math.max(0, squares / count - mean * mean));
  return { ...out, min: low, max: high, mean, std, l2: Math.sqrt(squares), abs_max: Math.max(Math.abs(low), Math.abs(high)) };
}

function tally(out: MockSummary, value: number): void {
  if (value === 0) {
    out.zero++;
    return;
  }
  if (value < 0) out.negative++;
  else out.positive++;
  if (Math.abs(value) < 1.1754943508222875e-38) out.subnormal++;
  const id = bucketId(value);
  out.buckets.set(id, (out.buckets.get(id) ?? 0) + 1);
}

/** Edges and counts of several summaries on one axis: the native buckets from the smallest to the largest used, zeros apart. */
export function symlogHistograms(summaries: MockSummary[]): { edges: number[]; zero_bucket: number; counts: number[][] } {
  const used = new Set(summaries.flatMap((summary) => [...summary.buckets.keys()]));
  const negative = range([...used].filter((id) => id > 511)).reverse();
  const positive = range([...used].filter((id) => id < 512));
  const ids = [...negative, -1, ...positive];
  const edges = [...negative.map((id) => -magnitude(id + 1)), ...innermost(negative, positive), ...positive.map((id) => magnitude(id + 1))];
  const counts = summaries.map((summary) => ids.map((id) => (id === -1 ? summary.zero : (summary.buckets.get(id) ?? 0))));
  return { edges, zero_bucket: negative.length, counts };
}

function innermost(negative: number[], positive: number[]): [number, number] {
  const left = negative.length > 0 ? -magnitude(negative[negative.length - 1] as number) : 0;
  return [left, positive.length > 0 ? magnitude(positive[0] as number) : 0];
}

function range(ids: number[]): number[] {
  if (ids.length === 0) return [];
  const [low, high] = [Math.min(...ids), Math.max(...ids)];
  return Array.from({ length: high - low + 1 }, (_, i) => low + i);
}
