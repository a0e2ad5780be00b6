import { expect, test } from 'vitest';
import { columnOfStep, rowLabel, scopeTrail, stepOfCell, type Timeline, worstOfRow } from './timeline';

/** Two rows over the steps 0–9, 10–19 and 30. */
const timeline: Timeline = {
  scope: 'net',
  rows: [
    { path: 'net/a', node: '', nodes: 2 },
    { path: 'net/b', node: 'net/b', nodes: 1 },
  ],
  leftOut: 0,
  first: Float64Array.of(0, 10, 30),
  last: Float64Array.of(9, 19, 30),
  value: Float64Array.of(1, 2, Number.NaN, 4, 5, 6),
  health: Uint8Array.of(1, 1, 0, 1, 3, 3),
  bad: Float64Array.of(-1, -1, -1, -1, 14, 30),
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

test('a bad cell leads to the step that turned bad, a fine one to its first', () => {
  expect([stepOfCell(timeline, 0, 1), stepOfCell(timeline, 1, 1)]).toEqual([10, 14]);
});

test('a row tells its worst health and since when', () => {
  expect([worstOfRow(timeline, 0), worstOfRow(timeline, 1)]).toEqual([
    { health: 1, step: null },
    { health: 3, step: 14 },
  ]);
});

test('names are those below the scope; the trail leads back', () => {
  expect([rowLabel('net/a', 'net'), rowLabel('network', 'net'), rowLabel('a/b', '')]).toEqual(['a', 'network', 'a/b']);
  expect(scopeTrail('a/b')).toEqual([
    { label: 'a', path: 'a' },
    { label: 'b', path: 'a/b' },
  ]);
  expect(scopeTrail('')).toEqual([]);
});
