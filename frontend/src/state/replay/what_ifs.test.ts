import { expect, test } from 'vitest';
import { changesOf, NO_WHAT_IFS, withChange } from '../../model/wire/what_ifs';
import { isSaved, noteSaved, openWhatIfs, shownWhatIfs, takeSaved } from './what_ifs';

const DOUBLED = { tensor: 'a:0', expression: 'x * 2' };
const names = () => shownWhatIfs.value.all.map((each) => each.name);

test('what was not saved is found again on the same recording only', () => {
  openWhatIfs('run A, step 1');
  shownWhatIfs.value = withChange(NO_WHAT_IFS, DOUBLED);
  openWhatIfs('run B, step 1');
  expect(names()).toEqual([]);
  expect(isSaved.value).toBe(true);
  openWhatIfs('run A, step 1');
  expect(changesOf(shownWhatIfs.value)).toEqual([DOUBLED]);
  expect(isSaved.value).toBe(false);
});

test('saved what-ifs that arrive late stand beside what was begun meanwhile', () => {
  openWhatIfs('run C, step 1');
  shownWhatIfs.value = withChange(NO_WHAT_IFS, DOUBLED);
  takeSaved({ 'what-if 1': [['b:0', 'x']] });
  expect(names()).toEqual(['what-if 1', 'what-if 2']);
  expect(shownWhatIfs.value.current).toBe('what-if 2');
  expect(isSaved.value).toBe(false);
});

test('saving a recording that is no longer shown leaves the current one as it is', () => {
  openWhatIfs('run D, step 1');
  shownWhatIfs.value = withChange(NO_WHAT_IFS, DOUBLED);
  openWhatIfs('run E, step 1');
  shownWhatIfs.value = withChange(NO_WHAT_IFS, DOUBLED);
  noteSaved('run D, step 1', { 'what-if 1': [['a:0', 'x * 2']] });
  expect(isSaved.value).toBe(false);
  openWhatIfs('run D, step 1');
  expect(isSaved.value).toBe(true);
});
