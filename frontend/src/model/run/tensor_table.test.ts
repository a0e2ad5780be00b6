import { expect, test } from 'vitest';
import type { Snapshot } from '../wire/answers';
import {
  cellNumber,
  cellText,
  columnsFor,
  FLOW,
  NO_FILTER,
  numberText,
  parsePattern,
  parseSort,
  patternError,
  sortText,
  TABLE_COLUMNS,
  type TableColumn,
  tableQuery,
  trendOf,
} from './tensor_table';

test('what is asked of the server', () => {
  expect(tableQuery(NO_FILTER, FLOW)).toEqual({ match: null, op_type: '', layer: '', nonfinite: false, where: '', sort: 'flow' });
  const query = tableQuery({ match: 'conv|pool', opType: 'Relu', layer: 'a/b', nonfinite: true, where: ' nan > 0 ' }, parseSort('-nan'));
  expect(query).toMatchObject({ match: '(?i)conv|pool', op_type: 'Relu', layer: 'a/b', nonfinite: true, where: 'nan > 0', sort: '-nan' });
});

test('a pattern that is no regular expression matches as text', () => {
  expect(parsePattern('a(')).toBeNull();
  expect(patternError('a(')).toBe('Not a regular expression (unterminated group); showing names that contain the text.');
  expect(patternError('a|b')).toBeNull();
  expect(tableQuery({ ...NO_FILTER, match: 'loss/[' }, FLOW).match).toBe('(?i)loss/\\[');
});

test('a sorting survives an address', () => {
  expect(parseSort(sortText({ column: 'nan', descending: true }))).toEqual({ column: 'nan', descending: true });
  expect(parseSort('median')).toEqual(FLOW);
  expect(parseSort('trend')).toEqual(FLOW);
});

test('the trend is of what the list is sorted by, where that is a number of the tensor', () => {
  expect([trendOf(FLOW), trendOf(parseSort('-std')), trendOf(parseSort('step')), trendOf(parseSort('zero'))]).toEqual([
    'abs_max',
    'std',
    'abs_max',
    'zero',
  ]);
});

test('narrow lists keep what matters most, and nothing sticks out', () => {
  const ids = (width: number) => columnsFor(width, null, { step: false, visit: false, worker: false }).map(({ id }) => id);
  expect(ids(100)).toEqual(['tensor']);
  expect(columnsFor(100, null, { step: false, visit: false, worker: true }).map(({ id }) => id)).toEqual(['tensor', 'worker']);
  expect(ids(560)).toEqual(['tensor', 'trend', 'nan', 'inf', 'abs_max']);
  for (const width of [400, 560, 800, 1000, 1600]) {
    const shown = columnsFor(width, null, { step: true, visit: true, worker: true });
    expect(shown.reduce((sum, column) => sum + column.width, 0)).toBeLessThanOrEqual(width);
  }
});

test('chosen columns stay, whatever the width; the step is shown where there are several', () => {
  const shown = columnsFor(100, ['l2', 'min'], { step: true, visit: false, worker: false });
  expect(shown.map(({ id }) => id)).toEqual(['tensor', 'step', 'min', 'l2']);
});

test('cells', () => {
  const row = { tensor: 'a:0', shape: [2, 3], dtype: 'float32', pos_inf: 2, neg_inf: 1, mean: 0.5 } as Snapshot;
  expect(['tensor', 'shape', 'dtype', 'layer'].map((id) => cellText(row, id as 'tensor'))).toEqual(['a:0', '2×3', 'float32', '']);
  expect([cellNumber(row, 'inf'), cellNumber(row, 'mean')]).toEqual([3, 0.5]);
  expect(cellText({ ...row, shape: [] }, 'shape')).toBe('scalar');
});

const column = (id: string) => TABLE_COLUMNS.find((candidate) => candidate.id === id) as TableColumn;

test.each([
  ['mean', -0.0002234567, '-0.000223'],
  ['mean', -1.23456e-10, '-1.23e-10'],
  ['mean', -1.23456e-308, '-1.2e-308'],
  ['mean', 12345.678, '12,350'],
  ['mean', Number.NaN, '–'],
  ['nan', 123456789, '1.23e8'],
  ['nan', Number.NaN, '?'],
  ['size', 12345678, '1.235e7'],
  ['size', 123456, '123,456'],
  ['step', 1234567, '1234567'],
])('in the column %s %d has no more digits than fit', (id, value, text) => {
  expect(numberText(column(id), value)).toBe(text);
});
