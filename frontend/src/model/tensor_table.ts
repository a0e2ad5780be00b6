import { type FieldName, parseCondition } from './condition';
import type { GraphData } from './graph';
import { healthOf } from './statistics';
import type { StepStatistics } from './steps';

/** The columns of the table of tensors; adding one is one row. Text columns sort by text, the others by number. */
export const TABLE_COLUMNS = [
  { id: 'tensor', label: 'Tensor', text: true },
  { id: 'op_type', label: 'Op', text: true },
  { id: 'layer', label: 'Layer', text: true },
  { id: 'dtype', label: 'Dtype', text: true },
  { id: 'shape', label: 'Shape', text: true },
  { id: 'size', label: 'Elements', text: false },
  { id: 'nan', label: 'NaN', text: false },
  { id: 'inf', label: 'Inf', text: false },
  { id: 'zero', label: 'Zeros', text: false },
  { id: 'min', label: 'Min', text: false },
  { id: 'mean', label: 'Mean', text: false },
  { id: 'max', label: 'Max', text: false },
  { id: 'std', label: 'Std', text: false },
  { id: 'abs_max', label: 'Abs max', text: false },
  { id: 'l2', label: 'L2', text: false },
] as const;

export type ColumnId = (typeof TABLE_COLUMNS)[number]['id'];

export interface TableFilter {
  /** Regular expression on tensor names; an invalid one matches as plain text. */
  match: string;
  opType: string;
  layer: string;
  nonfinite: boolean;
  /** A condition on the numbers, `nan > 0 and abs_max >= 1e4`; one that cannot be read lets everything pass. */
  where: string;
}

export const NO_FILTER: TableFilter = { match: '', opType: '', layer: '', nonfinite: false, where: '' };

export interface TableSort {
  column: ColumnId;
  descending: boolean;
}

/** A sorting as it stands in an address: `-nan`. What names no column sorts by name. */
export function parseSort(text: string): TableSort {
  const name = text.replace(/^-/, '');
  const column = TABLE_COLUMNS.find((candidate) => candidate.id === name);
  return column ? { column: column.id, descending: text.startsWith('-') } : { column: 'tensor', descending: false };
}

export function sortText({ column, descending }: TableSort): string {
  return (descending ? '-' : '') + column;
}

/** The statistics of a graph's tensors at one step as a table; rows are numbered as in the step's columns. */
export class TensorTable {
  constructor(
    readonly graph: GraphData,
    readonly step: StepStatistics,
  ) {}

  text(row: number, column: ColumnId): string {
    const node = this.step.node[row] as number;
    const slot = this.step.slot[row] as number;
    if (column === 'tensor') return `${this.graph.names.at(node)}:${slot}`;
    if (column === 'op_type') return this.graph.opTypes.at(node);
    if (column === 'layer') return this.graph.layers.at(node);
    if (column === 'dtype') return this.step.dtype.at(row);
    // The graph knows the shape of the first output only.
    return column === 'shape' && slot === 0 ? this.graph.shapes.at(node) : '';
  }

  number(row: number, column: ColumnId | FieldName): number {
    const at = (name: Parameters<StepStatistics['column']>[0]) => this.step.column(name)[row] as number;
    if (column === 'inf') return at('pos_inf') + at('neg_inf');
    if (column === 'nonfinite') return at('nan') + at('pos_inf') + at('neg_inf');
    return at(column as Parameters<StepStatistics['column']>[0]);
  }

  health(row: number) {
    return healthOf(this.number(row, 'nan'), this.number(row, 'inf'));
  }

  /** Rows that pass the filter, sorted. NaN sorts last, whichever way. */
  rows(filter: TableFilter, sort: TableSort): Int32Array {
    const matches = matcher(filter.match);
    const { test } = parseCondition(filter.where);
    const kept: number[] = [];
    for (let row = 0; row < this.step.count; row++)
      if (this.passes(row, filter, matches) && (test === null || test((name) => this.number(row, name)))) kept.push(row);
    return Int32Array.from(kept).sort(this.comparison(sort));
  }

  private passes(row: number, filter: TableFilter, matches: (text: string) => boolean): boolean {
    if (filter.nonfinite && this.health(row) === 'fine') return false;
    if (filter.opType !== '' && this.text(row, 'op_type') !== filter.opType) return false;
    if (filter.layer !== '' && this.text(row, 'layer') !== filter.layer) return false;
    return filter.match === '' || matches(this.text(row, 'tensor'));
  }

  private comparison({ column, descending }: TableSort): (a: number, b: number) => number {
    const sign = descending ? -1 : 1;
    if (TABLE_COLUMNS.find((candidate) => candidate.id === column)?.text) {
      const keys = Array.from({ length: this.step.count }, (_, row) => this.text(row, column));
      return (a, b) => sign * compareText(keys[a] as string, keys[b] as string) || a - b;
    }
    const keys = Float64Array.from({ length: this.step.count }, (_, row) => this.number(row, column));
    return (a, b) => compareNumbers(keys[a] as number, keys[b] as number, sign) || a - b;
  }
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function compareNumbers(a: number, b: number, sign: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  return sign * (a < b ? -1 : a > b ? 1 : 0);
}

/** Null where the text is no regular expression. */
export function parsePattern(text: string): RegExp | null {
  try {
    return new RegExp(text, 'i');
  } catch {
    return null;
  }
}

function matcher(text: string): (name: string) => boolean {
  const pattern = parsePattern(text);
  if (pattern) return (name) => pattern.test(name);
  return (name) => name.toLowerCase().includes(text.toLowerCase());
}
