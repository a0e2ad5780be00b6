import { expect, test } from 'vitest';
import type { HistogramRow } from '../wire/answers';
import { ridgeExtent, ridges, stepOutline, tallestBar, thinRows } from './histogram_shapes';

function row(step: number, counts: number[]): HistogramRow {
  return { step, counts, visit: 0, worker: 'w', nan: 0, pos_inf: 0, neg_inf: 0, zero: 0, min: 0, max: 0 };
}

test('an outline goes up and down at the bucket edges and ends on the ground', () => {
  expect(stepOutline({ at: [0, 1, 3], scale: 'linear' }, [2, 5])).toEqual({ x: [0, 0, 1, 1, 3, 3], y: [0, 2, 2, 5, 5, 0] });
});

test('exact zeros do not set the height, unless there is nothing else', () => {
  const symlog = { at: [0, 1, 2, 3], zeroBucket: 1, scale: 'symlog' } as const;
  expect(tallestBar([row(0, [1, 900, 3])], symlog)).toBe(3);
  expect(tallestBar([row(0, [0, 900, 0])], symlog)).toBe(900);
  expect(tallestBar([row(0, [0, 0])], { ...symlog, zeroBucket: null })).toBe(1);
  expect(tallestBar([row(0, [4, 3])], { at: [0, 1, 1.5], zeroBucket: null, scale: 'symlog' })).toBe(6); // per octave
});

test('on a linear axis their bin keeps what else is in it', () => {
  const linear = { at: [0, 1, 2], zeroBucket: 0, scale: 'linear' } as const;
  expect(tallestBar([{ ...row(0, [907, 3]), zero: 900 }], linear)).toBe(7);
  expect(tallestBar([{ ...row(0, [900, 0]), zero: 900 }], linear)).toBe(900);
});

test('the first step stands at the back, the last in front, all within the picture', () => {
  const shapes = ridges([row(0, [1, 2]), row(5, [900, 2]), row(9, [4, 4])], { at: [0, 1, 2], zeroBucket: 0, scale: 'symlog' });
  expect(shapes.map(({ step, base }) => [step, base])).toEqual([
    [0, 2],
    [5, 1],
    [9, 0],
  ]);
  const [low, high] = ridgeExtent(3);
  for (const y of shapes.flatMap((shape) => shape.y)) {
    expect(y).toBeGreaterThan(low);
    expect(y).toBeLessThan(high);
  }
});

test('thinning keeps the first, the last and the current step', () => {
  const rows = Array.from({ length: 100 }, (_, i) => row(i, []));
  const steps = thinRows(rows, 10, 37).map((thinned) => thinned.step);
  expect(steps).toContain(37);
  expect([steps[0], steps.at(-1), steps.length]).toEqual([0, 99, 11]);
  expect(thinRows(rows.slice(0, 3), 10, null)).toHaveLength(3);
});
