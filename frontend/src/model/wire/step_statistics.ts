/** The statistics of every tensor of one graph at one step, as `…/graphs/<graph>/steps/<step>` sends them: one row per tensor. */

import { type Columns, type DictColumn, decodeColumns } from '../../lib/arrays/columns';
import type { MeasureName } from './statistics';
import type { NodeStatistic } from './value_scale';

export interface StepStatistics {
  readonly step: number;
  readonly count: number;
  /** Row number of the node in the graph. */
  readonly node: Int32Array;
  readonly slot: Int32Array;
  readonly visits: Int32Array;
  readonly dtype: DictColumn;
  /** `32×28×28`, `scalar`; of the first iteration. */
  readonly shape: DictColumn;
  readonly kept: Uint8Array;
  column(name: MeasureName | 'size'): Float64Array;
}

/** Decodes the answer; throws `ColumnsError`. */
export function decodeStep(buffer: ArrayBuffer): StepStatistics {
  return stepFromColumns(decodeColumns(buffer));
}

function stepFromColumns(columns: Columns): StepStatistics {
  const node = columns.i32('node');
  return {
    step: Number(columns.meta.step ?? 0),
    count: node.length,
    node,
    slot: columns.i32('slot'),
    visits: columns.i32('visits'),
    dtype: columns.dict('dtype'),
    shape: columns.dict('shape'),
    kept: columns.u8('kept'),
    column: (name) => columns.f64(name),
  };
}

/** A statistic of one row; shares are parts of the tensor's size. */
export function statisticOf(step: StepStatistics, row: number, name: NodeStatistic): number {
  const at = (column: MeasureName | 'size') => step.column(column)[row] ?? Number.NaN;
  if (name === 'zero_share') return at('zero') / at('size');
  if (name === 'nan_share') return at('nan') / at('size');
  if (name === 'inf_share') return (at('pos_inf') + at('neg_inf')) / at('size');
  return at(name);
}
