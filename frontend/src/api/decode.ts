/** Answers of the server as JSON (server/http_api.md), decoded into the model's types. */

import type { NpyArray } from '../lib/arrays/npy';
import { shortened } from '../lib/arrays/utf8';
import type { HistogramRow, Histograms, History, Snapshot, TrainingLogs } from '../model/wire/answers';
import { COUNTS, type MeasureName, STATISTICS, toNumber, type WireNumber } from '../model/wire/statistics';
import type { ValueRange } from '../model/wire/value_scale';

/** JSON has no NaN and no Infinity: measured numbers arrive as numbers or as their names (server/http_api.md). */
type Wired<T, K extends keyof T> = Omit<T, K> & Record<K, WireNumber | null>;

export type WireSnapshot = Wired<Snapshot, MeasureName | 'size'>;

const MEASURES: readonly (MeasureName | 'size')[] = ['size', ...COUNTS, ...STATISTICS];

export function readSnapshot(row: WireSnapshot): Snapshot {
  const out = { ...row } as unknown as Snapshot;
  for (const name of MEASURES) out[name] = toNumber(row[name]);
  if (row.trend) out.trend = { ...row.trend, value: row.trend.value.map(toNumber) };
  return out;
}

export interface WireHistory {
  tensor: string;
  graph: string;
  thinned_from?: number | null;
  columns: Record<string, unknown[]>;
}

/** Columns to rows: charts read columns, everything else (iterations, workers, the current step) reads rows. */
export function readHistory(wire: WireHistory): History {
  const { columns, tensor, graph } = wire;
  const names = Object.keys(columns);
  const rows = (columns.step ?? []).map((_, i) => {
    const row = Object.fromEntries(names.map((name) => [name, columns[name]?.[i]]));
    return readSnapshot({ tensor, graph, ...row } as unknown as WireSnapshot);
  });
  return { tensor, graph, thinned_from: wire.thinned_from ?? null, rows };
}

export interface WireHistograms extends Omit<Histograms, 'rows' | 'edges' | 'approximate'> {
  approximate?: boolean;
  edges: WireNumber[];
  rows: Wired<HistogramRow, RowNumber>[];
}

const ROW_NUMBERS = ['nan', 'pos_inf', 'neg_inf', 'zero', 'min', 'max'] as const;
type RowNumber = (typeof ROW_NUMBERS)[number];

function readRow(row: Wired<HistogramRow, RowNumber>): HistogramRow {
  const out = { ...row } as unknown as HistogramRow;
  for (const name of ROW_NUMBERS) out[name] = toNumber(row[name]);
  return out;
}

export function readHistograms(wire: WireHistograms): Histograms {
  return {
    ...wire,
    approximate: wire.approximate === true,
    zero_bucket: wire.zero_bucket ?? null,
    edges: wire.edges.map(toNumber),
    rows: wire.rows.map(readRow),
  };
}

export type WireRange = Wired<ValueRange, 'least' | 'low' | 'high' | 'largest'>;

export function readRange({ least, low, high, largest, zeros }: WireRange): ValueRange {
  return { least: toNumber(least), low: toNumber(low), high: toNumber(high), largest: toNumber(largest), zeros };
}

/** A value in the answer to `format=json`. */
export interface WireLogs {
  tensor: string | null;
  step: number[];
  epoch: number[];
  values: Record<string, WireNumber[]>;
  epochs: { epoch: number; step: number; values: Record<string, WireNumber> }[];
}

export function readLogs({ tensor, step, epoch, values, epochs }: WireLogs): TrainingLogs {
  const each = <A, B>(table: Record<string, A>, read: (value: A) => B): Record<string, B> =>
    Object.fromEntries(Object.entries(table).map(([name, value]) => [name, read(value)]));
  return {
    tensor,
    step,
    epoch,
    values: each(values, (column) => column.map(toNumber)),
    epochs: epochs.map((one) => ({ ...one, values: each(one.values, toNumber) })),
  };
}

export interface WireValue {
  dtype: string;
  shape: number[];
  data: unknown;
}

/** Text from JSON: .npy pads strings with NUL, so strings that end in NUL are only answered as JSON. */
export function readTextValue({ shape, data }: WireValue): NpyArray {
  const flat = Array.isArray(data) ? data.flat(Number.POSITIVE_INFINITY) : [data];
  return { kind: 'S', shape, values: flat.map((text) => shortened(String(text))) };
}
