import { expect, test } from 'vitest';
import { begin, changesOf, drop, elementChange, fromSaved, MOST_WHAT_IFS, NO_WHAT_IFS, redo, toSaved, undo, withChange } from './what_ifs';

const double = { tensor: 'a:0', expression: 'x * 2' };
const zero = { tensor: 'b:0', expression: '0' };

test('a change begins a what-if, is undone and made again', () => {
  const first = withChange(NO_WHAT_IFS, double);
  expect([first.current, changesOf(first)]).toEqual(['what-if 1', [double]]);
  const both = withChange(first, zero);
  const back = undo(both);
  expect(changesOf(back)).toEqual([double]);
  expect(changesOf(redo(back))).toEqual([double, zero]);
  expect(changesOf(redo(withChange(back, double)))).toEqual([double, double]);
  expect(undo(undo(undo(both)))).toEqual(undo(undo(both)));
});

test('another what-if begins with the changes of the current one, and leaves it alone', () => {
  const branched = withChange(begin(withChange(NO_WHAT_IFS, double)), zero);
  expect([branched.current, changesOf(branched, 'what-if 1'), changesOf(branched)]).toEqual(['what-if 2', [double], [double, zero]]);
  expect(drop(branched, 'what-if 2')).toEqual({ current: null, all: [{ name: 'what-if 1', made: [double], undone: [] }] });
  expect(changesOf({ ...branched, current: null })).toEqual([]);
});

test('they survive being saved, without what was undone', () => {
  const some = undo(withChange(withChange(NO_WHAT_IFS, double), zero));
  expect(toSaved(some)).toEqual({ 'what-if 1': [['a:0', 'x * 2']] });
  expect(fromSaved(toSaved(some))).toEqual({ current: null, all: [{ name: 'what-if 1', made: [double], undone: [] }] });
});

test('a taken name and one too many change nothing', () => {
  const one = begin(NO_WHAT_IFS, 'mine');
  expect(begin(one, 'mine')).toBe(one);
  let many = NO_WHAT_IFS;
  for (let i = 0; i < MOST_WHAT_IFS; i++) many = begin(many);
  expect(begin(many)).toBe(many);
});

test('an element is set by its index', () => {
  expect([elementChange('0,3', '1.5'), elementChange('2', 'NaN'), elementChange('1', '-Inf'), elementChange('1', 'true')]).toEqual([
    'put(x, (0, 3), 1.5)',
    'put(x, 2, nan)',
    'put(x, 1, -inf)',
    'put(x, 1, 1)',
  ]);
});
