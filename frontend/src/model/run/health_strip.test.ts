import { expect, test } from 'vitest';
import type { StepColumns } from '../wire/answers';
import { fractionOf, healthCells, healthRuns, positionAt, shareOf } from './health_strip';

function steps(health: string): StepColumns {
  const marks = [...health];
  return {
    step: marks.map((_, i) => i * 10),
    time: marks.map(() => 0),
    snapshots: marks.map(() => 4),
    nan: marks.map((mark) => (mark === 'n' ? 2 : 0)),
    inf: marks.map((mark) => (mark === 'i' ? 1 : 0)),
  };
}

const drawn = (health: string, cells: number) => healthCells(steps(health), cells).map((cell) => cell.health[0]);

test('one cell a step while there is room', () => {
  expect(drawn('..in', 100).join('')).toBe('ffin');
});

test('a single bad step colours its merged cell, NaN before Inf', () => {
  expect(drawn('....i...nnn.....', 4)).toEqual(['f', 'i', 'n', 'f']);
  expect(drawn('in', 1)).toEqual(['n']);
});

test('every step is in exactly one cell', () => {
  const cells = healthCells(steps('.'.repeat(103)), 7);
  expect(cells[0]?.first).toBe(0);
  expect(cells.at(-1)?.last).toBe(102);
  cells.slice(1).forEach((cell, i) => {
    expect(cell.first).toBe((cells[i]?.last ?? 0) + 1);
  });
});

test('neighbouring cells of one health are joined with their counts', () => {
  const runs = healthRuns(steps('..nn.'), 100);
  expect(runs.map(({ first, last, health, nan }) => [first, last, health, nan])).toEqual([
    [0, 1, 'fine', 0],
    [2, 3, 'nan', 4],
    [4, 4, 'fine', 0],
  ]);
});

test('no steps, no cells', () => {
  expect(healthCells(steps(''), 10)).toEqual([]);
});

test.each([
  [0, 0],
  [0.16, 0],
  [0.17, 1],
  [0.5, 2],
  [0.84, 3],
  [1, 3],
  [1.1, 3],
  [-0.1, 0],
])('the pointer at %d of four steps is at position %d', (fraction, position) => {
  expect(positionAt(fraction, 4)).toBe(position);
});

test('the first and the last step stand at the ends, a single one in the middle, and the pointer finds each', () => {
  const places = (count: number) => Array.from({ length: count }, (_, position) => fractionOf(position, count));
  expect([places(1), places(2), places(3)]).toEqual([[0.5], [0, 1], [0, 0.5, 1]]);
  for (const count of [1, 2, 3, 60, 1001]) expect(places(count).map((at) => positionAt(at, count))).toEqual([...Array(count).keys()]);
});

test('cells fill the strip: each step reaches half way to its neighbours', () => {
  const shares = (health: string) => healthRuns(steps(health), 100).map((cell) => shareOf(cell, health.length));
  expect([shares('.'), shares('.n'), shares('n.n')]).toEqual([[1], [0.5, 0.5], [0.25, 0.5, 0.25]]);
});
