import { expect, test } from 'vitest';
import { faded, longHex } from './chart_theme';

test('colours are written out before an opacity is added', () => {
  expect(faded(longHex('#fff'), 0.5)).toBe('#ffffff80');
  expect(longHex('#14171d')).toBe('#14171d');
});
