import { expect, test } from 'vitest';
import type { NpyArray } from '../../lib/arrays/npy';
import { planSlice, Slice } from './slice';

/** The server's answer for a plan on an array that counts up. */
function answer(shape: number[], plan: ReturnType<typeof planSlice>): NpyArray {
  const axes = plan.mapping.map((role, dim) => {
    if (typeof role === 'number') return [role];
    const { start, stop, step } = plan.spans[role] ?? { start: 0, stop: shape[dim] as number, step: 1 };
    return Array.from({ length: Math.ceil((stop - start) / step) }, (_, i) => start + i * step);
  });
  const stride = (dim: number) => shape.slice(dim + 1).reduce((product, length) => product * length, 1);
  let flat = [0];
  axes.forEach((axis, dim) => {
    flat = flat.flatMap((base) => axis.map((i) => base + i * stride(dim)));
  });
  const outShape = axes.filter((_, dim) => typeof plan.mapping[dim] !== 'number').map((axis) => axis.length);
  return { kind: 'f8', shape: outShape, values: Float64Array.from(flat) };
}

test('small planes are fetched whole', () => {
  expect(planSlice([2, 30, 40], [1, 'y', 'x'], 'plane').selection).toBe('1,0:30,0:40');
});

test('large planes are thinned evenly to what can be fetched and drawn', () => {
  const plan = planSlice([4096, 4096], ['y', 'x'], 'plane');
  expect(plan.selection).toBe('0:4096:4,0:4096:4');
});

test('a grid shows the first tiles that fit', () => {
  expect(planSlice([56, 56, 100_000], ['y', 'x', 'n'], 'image').selection).toBe('0:56,0:56,0:334');
});

test('elements keep their place in the whole tensor, also thinned and transposed', () => {
  const shape = [3, 5000, 4];
  const plan = planSlice(shape, [2, 'x', 'y'], 'plane');
  const slice = new Slice(answer(shape, plan), plan);
  expect(plan.selection).toBe('2,0:5000:3,0:4');
  expect([slice.stride, slice.length('x'), slice.length('y')]).toEqual([3, 1667, 4]);
  expect(slice.index({ y: 3, x: 7 })).toEqual([2, 21, 3]);
  expect(slice.number({ y: 3, x: 7 })).toBe(2 * 20_000 + 21 * 4 + 3);
});

test('place is the inverse of index', () => {
  const plan = planSlice([4, 6, 5], ['y', 3, 'x'], 'plane');
  const slice = new Slice(answer([4, 6, 5], plan), plan);
  expect(slice.place(slice.index({ y: 2, x: 4 }))).toMatchObject({ y: 2, x: 4 });
  expect(slice.place([2, 0, 4])).toBeNull();
});
