import { expect, test } from 'vitest';
import type { RunEvent } from './answers';
import { samplesByFile, stepRuns, triggersOf, watchesOf } from './events';

const event = (kind: string, step: number | null, facts: Record<string, unknown>): RunEvent => ({
  kind,
  step,
  time: 5,
  worker: 'w',
  facts,
});

test('a trigger is read with its line, its inputs and the steps before it', () => {
  const facts = {
    trigger: 'NonFinite()',
    reason: 'Log has 1 NaN',
    tensor: 'loss/Log:0',
    node: 'loss/Log',
    graph: 'g',
    source: ['train.py', 12, 'loss'],
    inputs: [{ tensor: 'x:0', nan: 0, inf: null, min: -1, max: 'Infinity' }, 'nonsense', null],
    first_step: 37,
    stops: true,
  };
  const [early, late] = triggersOf([event('trigger', 41, facts), event('watch', 3, {}), event('trigger', 2, { first_step: 2 })]);
  expect(early).toMatchObject({ step: 2, trigger: 'a trigger', reason: '', source: null, inputs: [], firstStep: null, stops: false });
  expect(late).toMatchObject({ step: 41, node: 'loss/Log', firstStep: 37, stops: true });
  expect(late?.source).toEqual({ file: 'train.py', line: 12, function: 'loss' });
  expect(late?.inputs).toEqual([{ tensor: 'x:0', nan: 0, inf: null, min: -1, max: Number.POSITIVE_INFINITY }]);
});

test('facts of any kind are no error', () => {
  const odd = [null, 3, 'x', [], {}].map((value) =>
    event('trigger', 1, { source: value, inputs: value, tensor: value, first_step: value }),
  );
  expect(triggersOf(odd)).toHaveLength(5);
  expect(triggersOf([event('trigger', null, {})])).toEqual([]);
});

test('watches tell what is kept, or why not', () => {
  const changes = watchesOf([
    event('watch', 0, { text: 'all of it', source: 'program' }),
    event('watch', null, { error: 'no JSON', source: 'watch.json' }),
  ]);
  expect(changes.map(({ text, error, fromProgram }) => [text, error, fromProgram])).toEqual([
    ['all of it', null, true],
    ['', 'no JSON', false],
  ]);
});

test('neighbouring steps join', () => {
  expect(stepRuns([3, 4, 5, 9])).toEqual([
    { first: 3, last: 5 },
    { first: 9, last: 9 },
  ]);
  expect(stepRuns([])).toEqual([]);
});

test('files of a batch are counted', () => {
  expect(samplesByFile(['b', 'a', 'c', 'b', 'a', 'b'])).toEqual([
    { file: 'b', count: 3 },
    { file: 'a', count: 2 },
    { file: 'c', count: 1 },
  ]);
});
