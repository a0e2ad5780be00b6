import { expect, test } from 'vitest';
import { apart } from './MiniHistogram';

const labels = (...ticks: [number, string][]): string[] => apart(ticks.map(([at, label]) => ({ at, label }))).map(({ label }) => label);

test('labels that would touch are skipped, 0 and the ends last', () => {
  expect(labels([0.1, '-0.1'], [0.15, '-0.01'], [0.3, '-0.001'], [0.5, '0'], [0.9, '0.1'])).toEqual(['-0.1', '-0.001', '0', '0.1']);
  expect(labels([0.45, '-1e-6'], [0.5, '0'], [0.55, '1e-6'])).toEqual(['0']);
  expect(labels([0, '0.0001'], [0.3, '0.001'], [0.6, '0.01'], [1, '1'])).toEqual(['0.0001', '0.001', '0.01', '1']);
});
