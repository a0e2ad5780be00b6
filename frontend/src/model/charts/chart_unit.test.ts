import { expect, test } from 'vitest';
import { chartUnit, unitTitle } from './chart_unit';

test('denormals and numbers near the largest are drawn in units of a power of ten', () => {
  const tiny = chartUnit([[Number.NaN, 2e-310], [-4.5e-311]]);
  expect(tiny.text).toBe('× 1e-310');
  expect(tiny.at(2e-310)).toBeCloseTo(2);
  expect(tiny.at(-4.5e-311)).toBeCloseTo(-0.45);
  const least = chartUnit([[5e-324]]);
  expect([least.text, least.at(5e-324)]).toEqual(['× 1e-324', expect.closeTo(4.94, 2)]);
  const huge = chartUnit([[1.7e308, Number.POSITIVE_INFINITY]]);
  expect([huge.text, huge.at(1.7e308)]).toEqual(['× 1e308', expect.closeTo(1.7)]);
  expect(huge.at(Number.NaN)).toBeNaN();
});

test('others are drawn as they are', () => {
  for (const columns of [[[1e-200, 3]], [[0]], [[]], [], [[Number.NaN]]]) {
    const unit = chartUnit(columns);
    expect([unit.text, unit.at(0.1)]).toEqual(['', 0.1]);
  }
  expect(unitTitle('mean', chartUnit([[1]]))).toBe('mean');
  expect(unitTitle('mean', chartUnit([[1e-300]]))).toBe('mean × 1e-300');
});
