/** One tensor on all workers, as `…/workers` sends it: a statistic by worker and step, those that leave the others first. */

import { decodeColumns, type TextColumn } from '../../lib/arrays/columns';
import { colormap, parseColour } from '../../lib/colours';
import { type NodeStatistic, rangeOf, type ValueScale, valueScale } from './value_scale';

export interface WorkerGrid {
  readonly statistic: NodeStatistic;
  /** How many steps there are, of which `step` are some. */
  readonly ofSteps: number;
  readonly step: Float64Array;
  /** Over the workers, by step. */
  readonly low: Float64Array;
  readonly median: Float64Array;
  readonly high: Float64Array;
  readonly worker: TextColumn;
  /** At how many steps each worker differs from the median, and at how many it captured nothing though others did. */
  readonly differing: Int32Array;
  readonly firstDiffering: Float64Array;
  readonly missing: Int32Array;
  /** By worker and step, worker by worker; NaN where nothing was captured, or nothing is finite. */
  readonly value: Float64Array;
  readonly captured: Uint8Array;
}

/** Decodes the answer; throws `ColumnsError`. */
export function decodeWorkerGrid(buffer: ArrayBuffer): WorkerGrid {
  const columns = decodeColumns(buffer);
  return {
    statistic: columns.meta.statistic as NodeStatistic,
    ofSteps: Number(columns.meta.of_steps),
    step: columns.f64('step'),
    low: columns.f64('low'),
    median: columns.f64('median'),
    high: columns.f64('high'),
    worker: columns.text('worker'),
    differing: columns.i32('differing'),
    firstDiffering: columns.f64('first_differing'),
    missing: columns.i32('missing'),
    value: columns.f64('value'),
    captured: columns.u8('captured'),
  };
}

const countAbove0 = (counts: Int32Array): number => counts.filter((count) => count > 0).length;

/** How many workers leave the others; 0 where most differ, as activations do, of which each worker has its own. */
export function drifting({ differing }: WorkerGrid): number {
  const count = countAbove0(differing);
  return 2 * count <= differing.length ? count : 0;
}

/** How many workers captured fewer steps than others. */
export const incomplete = ({ missing }: WorkerGrid): number => countAbove0(missing);

/** A picture of a grid: a pixel a worker and step, none where nothing was captured. */
export interface Cells {
  readonly scale: ValueScale;
  readonly rgba: Uint8ClampedArray<ArrayBuffer>;
  readonly width: number;
  readonly height: number;
}

/** The values, or where most workers agree, how far each one is from the median; `bad` and `same` colour what is not finite, and no distance. */
export function cellsOf(grid: WorkerGrid, fromMedian: boolean, bad: string, same: string): Cells {
  const { value, median, step, statistic, worker } = grid;
  const values = fromMedian ? value.map((each, i) => each - median[i % step.length]!) : value;
  const name = fromMedian ? 'mean' : statistic;
  const scale = valueScale(name, rangeOf(name, fromMedian ? values.filter(Boolean) : values));
  const table = colormap(scale.diverging ? 'diverging' : 'viridis');
  const rgba = new Uint8ClampedArray(4 * values.length);
  values.forEach((number, cell) => {
    if (!grid.captured[cell]) return;
    const at = 3 * Math.round(255 * scale.place(number));
    const flat = Number.isFinite(number) ? fromMedian && number === 0 && same : bad;
    rgba.set(flat ? parseColour(flat) : table.subarray(at, at + 3), 4 * cell);
    rgba[4 * cell + 3] = 255;
  });
  return { scale, rgba, width: step.length, height: worker.length };
}
