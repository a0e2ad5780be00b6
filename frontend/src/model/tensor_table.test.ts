import { expect, test } from 'vitest';
import { MockRun } from '../api/mock/run';
import { decodeGraph } from './graph';
import { decodeStep } from './steps';
import { NO_FILTER, parsePattern, parseSort, sortText, TensorTable } from './tensor_table';

const run = new MockRun('r', 0, 5, 300, false);
const table = new TensorTable(decodeGraph(run.graphColumns()), decodeStep(run.stepColumns(200)));
const names = (rows: Int32Array) => [...rows].map((row) => table.text(row, 'tensor'));

test('without a filter every tensor of the step is there, by name', () => {
  const all = names(table.rows(NO_FILTER, { column: 'tensor', descending: false }));
  expect(all).toHaveLength(run.tapped.length);
  expect(all).toEqual([...all].sort());
});

test('filters by regular expression, op, layer and health go together', () => {
  const rows = table.rows(
    { ...NO_FILTER, match: 'grad.*conv', opType: '', layer: 'conv2d', nonfinite: true },
    { column: 'nan', descending: true },
  );
  expect(rows.length).toBeGreaterThan(2);
  for (const row of rows) {
    expect(table.text(row, 'tensor')).toMatch(/grad.*conv/i);
    expect([table.text(row, 'layer'), table.health(row)]).toEqual(['conv2d', 'nan']);
  }
  expect(names(table.rows({ ...NO_FILTER, opType: 'Softmax' }, { column: 'tensor', descending: false }))).toEqual([
    'sequential/dense_1/Softmax:0',
  ]);
});

test('a condition on the numbers filters; one that cannot be read does not', () => {
  const bad = table.rows({ ...NO_FILTER, where: 'nonfinite > 0' }, { column: 'tensor', descending: false });
  expect([...bad]).toEqual([...table.rows({ ...NO_FILTER, nonfinite: true }, { column: 'tensor', descending: false })]);
  expect(table.rows({ ...NO_FILTER, where: 'nan >' }, { column: 'tensor', descending: false })).toHaveLength(table.step.count);
});

test('a sorting survives an address', () => {
  expect(parseSort(sortText({ column: 'nan', descending: true }))).toEqual({ column: 'nan', descending: true });
  expect(parseSort('median')).toEqual({ column: 'tensor', descending: false });
});

test('numbers sort either way, and what has no number comes last', () => {
  for (const descending of [true, false]) {
    const means = [...table.rows(NO_FILTER, { column: 'mean', descending })].map((row) => table.number(row, 'mean'));
    const finite = means.filter((mean) => !Number.isNaN(mean));
    expect(finite).toEqual([...finite].sort((a, b) => (descending ? b - a : a - b)));
    expect(means.slice(finite.length).every(Number.isNaN)).toBe(true);
  }
});

test('a pattern that is no regular expression matches as text', () => {
  expect(parsePattern('a(')).toBeNull();
  expect(table.rows({ ...NO_FILTER, match: 'loss/[' }, { column: 'tensor', descending: false })).toHaveLength(0);
});
