/** Small histograms of many tensors at one step, as `…/graphs/<graph>/steps/<step>/histograms` sends them. */

import { decodeColumns } from '../../lib/arrays/columns';

export interface SmallHistogram {
  /** The range of the bins. */
  readonly low: number;
  readonly high: number;
  /** Elements in equal bins. */
  readonly counts: Float64Array;
}

/** By `row:slot`. */
export type StepHistograms = ReadonlyMap<string, SmallHistogram>;

/** Decodes the answer; throws `ColumnsError`. */
export function decodeStepHistograms(buffer: ArrayBuffer): StepHistograms {
  const columns = decodeColumns(buffer);
  const bins = Number(columns.meta.bins ?? 0);
  const [node, slot, low, high, counts] = [
    columns.i32('node'),
    columns.i32('slot'),
    columns.f64('low'),
    columns.f64('high'),
    columns.f64('counts'),
  ];
  const found = new Map<string, SmallHistogram>();
  node.forEach((row, i) => {
    found.set(`${row}:${slot[i]}`, { low: low[i]!, high: high[i]!, counts: counts.subarray(i * bins, (i + 1) * bins) });
  });
  return found;
}
