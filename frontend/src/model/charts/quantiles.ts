import type { Histograms } from '../wire/answers';

/** Quantiles over steps, read from histograms. */
export interface QuantileSeries {
  step: number[];
  p5: number[];
  p25: number[];
  median: number[];
  p75: number[];
  p95: number[];
}

export const SHARES = { p5: 0.05, p25: 0.25, median: 0.5, p75: 0.75, p95: 0.95 } as const;
export type QuantileName = keyof typeof SHARES;
const NAMES = Object.keys(SHARES) as QuantileName[];

/**
 * What the stored buckets tell: which bucket a quantile lies in is exact, its place there is interpolated. Buckets end at powers of two
 * and one and a half times those, so that a quantile is less than a factor of 1.5 off; finite elements only.
 */
export function quantileSeries(histograms: Histograms): QuantileSeries {
  const out: QuantileSeries = { step: [], p5: [], p25: [], median: [], p75: [], p95: [] };
  for (const row of histograms.rows) {
    if (row.counts.every((count) => count === 0)) continue;
    out.step.push(row.step);
    for (const name of NAMES) out[name].push(quantile(histograms, row, SHARES[name]));
  }
  return out;
}

type Row = Histograms['rows'][number];

/** NaN where nothing was counted. */
export function quantile({ edges, zero_bucket }: Pick<Histograms, 'edges' | 'zero_bucket'>, row: Row, share: number): number {
  const total = row.counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return Number.NaN;
  const wanted = share * total;
  let below = 0;
  for (const [i, count] of row.counts.entries()) {
    if (count > 0 && below + count >= wanted) {
      if (i === zero_bucket) return 0;
      const left = held(edges[i] as number, row);
      const right = held(edges[i + 1] as number, row);
      return left + ((right - left) * (wanted - below)) / count;
    }
    below += count;
  }
  return row.max;
}

/** No element lies beyond the smallest and the largest: the outermost buckets end there. */
function held(edge: number, { min, max }: Row): number {
  return Math.max(Number.isNaN(min) ? edge : min, Math.min(Number.isNaN(max) ? edge : max, edge));
}
