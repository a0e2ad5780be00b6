import { expect, test } from 'vitest';
import { DictColumn } from '../../lib/arrays/columns';
import {
  cellOfNode,
  columnOfStep,
  placeAmongRows,
  roomForNames,
  rowAround,
  rowLabel,
  scopeTrail,
  type Timeline,
  type TimelineRow,
  worstOfRow,
} from './timeline';

const row = (path: string, depth: number, kind: TimelineRow['kind'] = 'node'): TimelineRow => ({
  path,
  kind,
  depth,
  open: kind !== 'node',
  node: kind === 'node' ? path : '',
  nodes: kind === 'node' ? 1 : 2,
});

/** Two rows over the steps 0–9, 10–19 and 30. */
const timeline: Timeline = {
  scope: 'net',
  rows: [row('net/a', 0, 'scope'), row('net/b', 0)],
  leftOut: 0,
  first: Float64Array.of(0, 10, 30),
  last: Float64Array.of(9, 19, 30),
  value: Float64Array.of(1, 2, Number.NaN, 4, 5, 6),
  health: Uint8Array.of(1, 1, 0, 1, 3, 3),
  bad: Float64Array.of(0, 0, 0, 0, 2, 2),
  step: Float64Array.of(3, 12, -1, 0, 14, 30),
  visit: Float64Array.of(0, 0, -1, 0, 0, 0),
  tensor: DictColumn.of(['net/a/x:0', 'net/a/x:0', '', 'net/b:0', 'net/b:0', 'net/b:0']),
};

test.each([
  [0, 0],
  [9, 0],
  [15, 1],
  [25, -1],
  [30, 2],
  [31, -1],
])('step %i lies in column %i', (step, column) => {
  expect(columnOfStep(timeline, step)).toBe(column);
});

test('a row tells its worst health and since when', () => {
  expect([worstOfRow(timeline, 0), worstOfRow(timeline, 1)]).toEqual([
    { health: 1, step: null },
    { health: 3, step: 14 },
  ]);
});

/** What two open scopes and a row of numbered ops hold. */
const tree: Timeline = {
  ...timeline,
  scope: '',
  rows: [
    row('net', 0, 'scope'),
    row('net/a', 1, 'scope'),
    row('net/a/x', 2),
    row('net/network', 1),
    row('net/Add …', 1, 'numbered'),
    row('net/Add_1', 2),
    row('network', 0),
    row('AddN …', 0, 'numbered'),
  ],
};

test('names are those below the row around them', () => {
  expect(tree.rows.map((_, i) => rowLabel(tree, i))).toEqual(['net', 'a', 'x', 'network', 'Add …', 'Add_1', 'network', 'AddN …']);
  expect(timeline.rows.map((_, i) => rowLabel(timeline, i))).toEqual(['a', 'b']);
});

test.each([
  ['net/a/x', 2],
  ['net/a/y', 1],
  ['net/z', 0],
  ['net/Add_1', 5],
  ['net/Add_20', 4],
  ['net/Add', 4],
  ['AddN_7', 7],
  ['network', 6],
  ['net/a', 1],
  ['elsewhere', null],
])('%s stands in the row furthest in that holds it', (path, found) => {
  expect(cellOfNode(tree, path, 15)?.row ?? null).toBe(found);
  expect(cellOfNode(tree, path, 25)).toBeNull();
});

test('what has no row of its own stands in the rest of the open row around it', () => {
  const crowd = {
    ...tree,
    rows: [row('net', 0, 'scope'), row('net/a', 1), { ...row('net/…', 1, 'rest'), open: false, nodes: 85 }, row('x', 0)],
  };
  const rowOfNode = (path: string) => cellOfNode(crowd, path, 15)?.row ?? null;
  expect(['net/a', 'net/b', 'net/c/d', 'x', 'y'].map(rowOfNode)).toEqual([1, 2, 2, 3, null]);
  expect(rowLabel(crowd, 2)).toBe('85 more nodes');
  const opened = { ...crowd, rows: [...crowd.rows.slice(0, 2), row('net/…', 1, 'rest'), row('net/b', 2), row('x', 0)] };
  expect(rowLabel(opened, 3)).toBe('b');
  const inside = { ...tree, scope: 'net', rows: [row('net/a', 0), { ...row('net/…', 0, 'rest'), open: false }] };
  expect([cellOfNode(inside, 'net/b', 15)?.row, cellOfNode(inside, 'other', 15)]).toEqual([1, null]);
});

test('rows know the open row around them, and their place among those beside them', () => {
  expect(tree.rows.map((_, i) => rowAround(tree, i))).toEqual([-1, 0, 1, 0, 0, 4, -1, -1]);
  const places = tree.rows.map((_, i) => placeAmongRows(tree, i)).map(({ place, of }) => `${place}/${of}`);
  expect(places).toEqual(['1/3', '1/3', '1/1', '2/3', '3/3', '1/1', '2/3', '3/3']);
});

test('the column of names has room for the longest one, in coarse steps', () => {
  expect(roomForNames(tree)).toBe(280);
  const long = (letters: number) => roomForNames({ ...tree, rows: [...tree.rows, row('x'.repeat(letters), 3)] });
  expect([long(40), long(41)]).toEqual([400, 440]);
});

test('the trail leads back', () => {
  expect(scopeTrail('a/b')).toEqual([
    { label: 'a', path: 'a' },
    { label: 'b', path: 'a/b' },
  ]);
  expect(scopeTrail('')).toEqual([]);
});
