import { formatCount, formatShort } from '../../lib/text/format';
import type { Snapshot } from '../wire/answers';
import { COUNTS, infinities, type MeasureName, STATISTICS, shapeText } from '../wire/statistics';

/**
 * Columns of the list of tensors; a new one is one row. `width`: pixels; `rank`: priority if there is no room for all. The server sorts
 * by all but the trend.
 */
export const TABLE_COLUMNS = [
  { id: 'tensor', label: 'Tensor', text: true, width: 180, rank: 0 },
  { id: 'step', label: 'Step', text: false, width: 84, rank: 0 },
  { id: 'visit', label: 'Iteration', text: false, width: 72, rank: 13 },
  { id: 'worker', label: 'Worker', text: true, width: 84, rank: 0 },
  { id: 'trend', label: 'Trend', text: true, width: 92, rank: 3 },
  { id: 'op_type', label: 'Op', text: true, width: 104, rank: 8 },
  { id: 'layer', label: 'Layer', text: true, width: 110, rank: 12 },
  { id: 'dtype', label: 'Dtype', text: true, width: 76, rank: 10 },
  { id: 'shape', label: 'Shape', text: true, width: 104, rank: 7 },
  { id: 'size', label: 'Elements', text: false, width: 84, rank: 9 },
  { id: 'nan', label: 'NaN', text: false, width: 68, rank: 1 },
  { id: 'inf', label: 'Inf', text: false, width: 68, rank: 2 },
  { id: 'zero_share', label: '% zeros', text: false, width: 76, rank: 4.5 },
  { id: 'zero', label: 'Zeros', text: false, width: 76, rank: 15 },
  { id: 'min', label: 'Min', text: false, width: 92, rank: 6 },
  { id: 'mean', label: 'Mean', text: false, width: 92, rank: 5 },
  { id: 'max', label: 'Max', text: false, width: 92, rank: 6 },
  { id: 'std', label: 'Std', text: false, width: 92, rank: 5 },
  { id: 'abs_max', label: 'Max |x|', text: false, width: 92, rank: 4 },
  { id: 'l2', label: 'L2 norm', text: false, width: 92, rank: 14 },
] as const;

export type TableColumn = (typeof TABLE_COLUMNS)[number];
export type ColumnId = TableColumn['id'];

export interface TableFilter {
  /** Regular expression for tensor names, ignoring case; an invalid one matches as plain text. */
  match: string;
  opType: string;
  layer: string;
  nonfinite: boolean;
  /** A condition on numbers and texts, `nan > 0 and op == 'Relu'`, in the server's syntax. */
  where: string;
}

export const NO_FILTER: TableFilter = { match: '', opType: '', layer: '', nonfinite: false, where: '' };

export interface TableSort {
  /** `flow`: data flow order, which has no column. */
  column: ColumnId | 'flow';
  descending: boolean;
}

export const FLOW: TableSort = { column: 'flow', descending: false };

/** An order as in an address: `-nan`. Unknown columns sort in data flow order. */
export function parseSort(text: string): TableSort {
  const name = text.replace(/^-/, '');
  const column = TABLE_COLUMNS.find((candidate) => candidate.id === name && candidate.id !== 'trend');
  return column ? { column: column.id, descending: text.startsWith('-') } : FLOW;
}

export function sortText({ column, descending }: TableSort): string {
  return (descending ? '-' : '') + column;
}

/** Parameters of the request, except the page. */
export function tableQuery(filter: TableFilter, sort: TableSort): Record<string, string | boolean | null> {
  const { opType, layer, nonfinite, where } = filter;
  const match = filter.match === '' ? null : `(?i)${parsePattern(filter.match) ? filter.match : escaped(filter.match)}`;
  return { match, op_type: opType, layer, nonfinite, where: where.trim(), sort: sortText(sort) };
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Null if the text is not a regular expression. */
export function parsePattern(text: string): RegExp | null {
  const read = readPattern(text);
  return read instanceof RegExp ? read : null;
}

/** Why a text is not a regular expression; null if it is. */
export function patternError(text: string): string | null {
  const read = readPattern(text);
  return read instanceof RegExp ? null : `Not a regular expression (${read}); showing names that contain the text.`;
}

function readPattern(text: string): RegExp | string {
  try {
    return new RegExp(text, 'i');
  } catch (error) {
    return String(error).replace(/^.*: /s, '').toLowerCase();
  }
}

/** The statistic of the trend column: that of the order, else the largest magnitude. */
export function trendOf({ column }: TableSort): MeasureName | 'size' {
  const known = [...COUNTS, ...STATISTICS, 'size' as const].find((name) => name === column);
  return column === 'zero_share' ? 'zero' : (known ?? 'abs_max');
}

/** Columns that distinguish rows of one tensor; visible where rows differ in them. */
type Needed = Readonly<Record<'step' | 'visit' | 'worker', boolean>>;

/** Visible columns: the chosen ones, or as many as fit, by rank. */
export function columnsFor(width: number, chosen: readonly ColumnId[] | null, needed: Needed): TableColumn[] {
  const possible = TABLE_COLUMNS.filter(({ id }) => !(id in needed) || needed[id as keyof Needed]);
  if (chosen !== null) return possible.filter(({ id, rank }) => rank === 0 || chosen.includes(id));
  let left = width;
  const taken = new Set<ColumnId>();
  for (const column of [...possible].sort((a, b) => a.rank - b.rank)) {
    left -= column.width;
    if (column.rank > 0 && left < 0) break;
    taken.add(column.id);
  }
  return possible.filter(({ id }) => taken.has(id));
}

export function cellText(row: Snapshot, column: ColumnId): string {
  if (column === 'tensor' || column === 'dtype' || column === 'worker') return row[column];
  if (column === 'shape') return shapeText(row);
  return column === 'op_type' || column === 'layer' ? (row[column] ?? '') : '';
}

/** Width of a digit, and of a cell's padding, in pixels. */
const DIGIT = 7.5;
const PADDING = 20;

/** A number for a column: with fewer digits if it does not fit, because a truncated number is a different one. */
export function numberText({ id, width }: TableColumn, value: number): string {
  if (id === 'step' || id === 'visit') return String(value);
  if (id === 'zero_share') return Number.isNaN(value) ? '?' : shareText(value);
  const room = Math.floor((width - PADDING) / DIGIT);
  if (COUNT_COLUMNS.includes(id)) {
    const text = Number.isNaN(value) ? '?' : formatCount(value);
    return text.length <= room ? text : formatShort(value, room);
  }
  return Number.isNaN(value) ? '–' : formatShort(value, room);
}

/** Percent; 0 and 100 only if exact. */
function shareText(share: number): string {
  if (share === 0 || share === 1) return `${100 * share} %`;
  return `${Math.min(99.9, Math.max(0.1, 100 * share)).toFixed(1)} %`;
}

/** Counts may be unknown. */
export const COUNT_COLUMNS: readonly ColumnId[] = ['size', 'nan', 'inf', 'zero', 'zero_share'];

export function cellNumber(row: Snapshot, column: ColumnId): number {
  if (column === 'inf') return infinities(row);
  if (column === 'zero_share') return row.size === 0 ? 0 : row.zero / row.size;
  return Number(row[column as keyof Snapshot]);
}
