import { expect, test } from 'vitest';
import type { Snapshot } from '../wire/answers';
import { noValueWords, valuesMissing } from './no_value';

const row = (facts: Partial<Snapshot>): Snapshot => ({ kept: false, ...facts }) as Snapshot;

test('a watch is offered only where it would have helped', () => {
  expect(noValueWords(row({ no_value: 'summary' }))).toBeNull();
  expect(noValueWords(row({}))).toBeNull();
  expect(noValueWords(row({ no_value: 'source' }))?.text).toContain('import');
});

test('what was lost is not called not kept', () => {
  expect(noValueWords(row({ no_value: 'refused' }))).toMatchObject({ title: 'The value was lost' });
  expect(noValueWords(row({ no_value: 'damaged' }))?.text).toContain('repaired');
  expect(noValueWords(row({ pruned: true }))?.title).toBe('The value was pruned');
});

test('of two values, each side says why it is missing', () => {
  expect(valuesMissing('summary', 'summary')).toBe('The values were not kept: Watch(keep="value") in both runs shows them.');
  expect(valuesMissing('', 'summary')).toBe('B: The value was not kept. Watch(keep="value") keeps it.');
  expect(valuesMissing('source', 'summary')).toMatch(/^A: .* B: .*keeps it\.$/);
  expect(valuesMissing('pruned', '')).toMatch(/^A: The value was pruned\..*/);
  expect(valuesMissing('pruned', '')).not.toContain('Watch');
  expect(valuesMissing('', '')).toContain('above 64 MiB');
});
