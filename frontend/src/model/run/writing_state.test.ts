import { expect, test } from 'vitest';
import { writingState } from './writing_state';

test('a worker that was killed is neither closed nor live', () => {
  expect(writingState({ closed: true, live: false })).toBe('closed');
  expect(writingState({ closed: false, live: true })).toBe('live');
  expect(writingState({ closed: false, live: false })).toBe('not closed');
});
