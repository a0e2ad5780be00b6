/** Trend of a statistic of single nodes over the steps, as `…/graphs/<graph>/trends` sends it. */

import { decodeColumns } from '../../lib/arrays/columns';
import type { NodeStatistic } from './value_scale';

/** Parallel columns, one row per point along the node's captured steps, ascending. */
export interface NodeTrend {
  /** The first step of each point. */
  readonly step: Float64Array;
  /** NaN if nothing is finite. */
  readonly value: Float64Array;
  /** 0 not counted, 1 fine, 2 an infinity, 3 a NaN. */
  readonly health: Uint8Array;
  /** Range of the finite values; NaN if there are none. */
  readonly low: number;
  readonly high: number;
}

/** The visible trends, and their statistic. */
export interface NodeTrends {
  readonly statistic: NodeStatistic;
  /** The range of steps of all trends, and the current one. */
  readonly first: number;
  readonly last: number;
  readonly step: number;
  /** By row of the node in the graph; uncaptured ones are missing. */
  readonly ofNode: ReadonlyMap<number, NodeTrend>;
}

export const INF_PLACE = 2;
export const NAN_PLACE = 3;

/** Decodes the answer; throws `ColumnsError`. */
export function decodeNodeTrends(buffer: ArrayBuffer): Map<number, NodeTrend> {
  const columns = decodeColumns(buffer);
  const [node, step, value, health] = [columns.i32('node'), columns.f64('step'), columns.f64('value'), columns.u8('health')];
  const trends = new Map<number, NodeTrend>();
  for (let from = 0, to = 0; from < node.length; from = to) {
    while (to < node.length && node[to] === node[from]) to++;
    const part = value.subarray(from, to);
    trends.set(node[from]!, { step: step.subarray(from, to), value: part, health: health.subarray(from, to), ...range(part) });
  }
  return trends;
}

/** Without the points at which elements are NaN or infinite: norms and means there only count the others. */
export function finitePoints(trend: NodeTrend): NodeTrend {
  if (!trend.health.some((health) => health >= INF_PLACE)) return trend;
  const value = trend.value.map((one, i) => (trend.health[i]! >= INF_PLACE ? Number.NaN : one));
  return { ...trend, value, ...range(value) };
}

function range(values: Float64Array): { low: number; high: number } {
  let [low, high] = [Number.NaN, Number.NaN];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (!(low <= value)) low = value;
    if (!(high >= value)) high = value;
  }
  return { low, high };
}

/** The point of a step; -1 before the first one. */
export function placeOfStep(trend: NodeTrend, step: number): number {
  return trend.step.findLastIndex((first) => first <= step);
}

/** Height of a value in its trend's range, 0 to 1; constant trends are in the middle. */
export function heightOf({ low, high }: NodeTrend, value: number): number {
  return high > low ? (value - low) / (high - low) : 0.5;
}
