import { expect, test } from 'vitest';
import type { RunDetail } from '../wire/answers';
import type { WatchChange } from '../wire/events';
import { nextRunName, raisedOf, recordedWords, unseenOf, watchedBy } from './nothing_captured';

const run = (info: Record<string, unknown>) => ({ info }) as RunDetail;
const change = (text: string, error: string | null = null): WatchChange => ({ step: 1, time: 0, text, error, fromProgram: false });

test('the watches are those of the program until a watch.json was taken', () => {
  const program = run({ watch: ["Watch(nodes='x')", 3] });
  expect(watchedBy(program, [])).toEqual(["Watch(nodes='x')"]);
  expect(watchedBy(program, [change('Watch(steps=2)'), change('', 'no JSON')])).toEqual(['Watch(steps=2)']);
  expect(watchedBy(run({}), [])).toEqual([]);
  expect(watchedBy(run({ watch: 'all' }), [])).toEqual([]);
});

test('the next run has a name that no run has', () => {
  expect(nextRunName('fit', ['fit'])).toBe('fit-2');
  expect(nextRunName('fit', ['fit', 'fit-2', 'fit-3'])).toBe('fit-4');
  expect(nextRunName('fit-9', ['fit-9'])).toBe('fit-10');
});

test('what was not captured is told once, as the program was warned', () => {
  const event = (kind: string, facts: Record<string, unknown>) => ({ kind, step: 0, time: 0, worker: 'w', facts });
  const events = [
    event('unseen', { text: 'No tap.' }),
    event('unseen', { text: 'No tap.' }),
    event('unseen', { text: 3 }),
    event('watch', { text: 'Watch()' }),
  ];
  expect(unseenOf(events)).toEqual(['No tap.']);
});

test('steps that raised are told with the node, where it is known', () => {
  const event = (step: number, facts: Record<string, unknown>) => ({ kind: 'raised', step, time: 0, worker: 'w', facts });
  const events = [event(3, { error: 'ValueError: no' }), event(4, { error: 'OpError: no', node: 'loss' }), event(5, {})];
  expect(raisedOf(events)).toEqual(['Step 3 raised: ValueError: no', 'Step 4 raised in loss: OpError: no']);
});

test('of recorded steps Replay shows more, if only how the server may run them', () => {
  expect(recordedWords([1], true)).toEqual({ recorded: 'Step 1 was recorded', stepper: 'can compute any tensor of it' });
  expect(recordedWords([1], false)).toMatchObject({ stepper: 'explains how to replay it' });
  expect(recordedWords([10, 20, 30], false)).toEqual({
    recorded: '3 steps were recorded (10 … 30)',
    stepper: 'explains how to replay them',
  });
  expect(recordedWords([], true)).toBeNull();
});
