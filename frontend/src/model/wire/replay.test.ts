import { expect, test } from 'vitest';
import { type Computed, ComputedStep, nameColumns, proofOf, recordingAt, recordingLabel, recordingOf, shortLine } from './replay';

const proof = (word: string) => ({ proven: word === 'same', word, text: '' });

const COMPUTED: Computed = {
  run: 'computed-1',
  graph: 'g',
  step: 7,
  failed: '',
  proofs: { step: proof('step'), tensor: { true: proof('same'), false: proof('other'), null: proof('not captured') } },
  changed: ['net/relu:0', 'loss:0'],
  order: ['x', 'net/dense', 'net/relu', 'loss', 'done'],
  origins: ['net/dense'],
  tensors: {
    name: ['x:0', 'net/dense:0', 'net/relu:0', 'loss:0'],
    dtype: ['float32', 'float32', 'float32', 'float32'],
    shape: [[2], [2, 3], [2, 3], []],
    nan: [0, 0, 0, 1],
    inf: [0, 2, 0, 0],
    bad_visit: [-1, 0, -1, 2],
    visits: [1, 1, 1, 3],
    kept: [true, true, true, true],
    proven: [true, false, null, null],
  },
};

const recorded = (id: string, step: number, call: number, name: string) => ({
  id,
  step,
  call,
  function: name,
  graph: `${name}-1`,
  damage: '',
});

test('a recording is that of the step, its last call of the current graph, its last call, else the last', () => {
  const all = [recorded('a', 1, 0, 'disc'), recorded('b', 1, 1, 'gen'), recorded('c', 5, 0, 'disc')];
  expect([recordingAt(all, 1, null)?.id, recordingAt(all, 2, 'gen-1')?.id, recordingAt([], 1, null)]).toEqual(['b', 'c', null]);
  expect([recordingAt(all, 1, 'disc-1')?.id, recordingAt(all, 1, 'other')?.id]).toEqual(['a', 'b']);
  expect(recordingAt(all.slice(0, 2), null, 'disc-1')?.id).toBe('a'); // where nothing was captured no step is shown
  expect([recordingOf(all, 2, 'gen-1'), recordingOf(all, 1, 'disc-1')?.id]).toEqual([null, 'a']);
});

test('a recording is told by its step, its function, and its call where that says more', () => {
  const all = [
    recorded('a', 1, 0, 'disc'),
    recorded('b', 1, 1, 'gen'),
    recorded('c', 1, 2, 'gen'),
    recorded('d', 5, 0, 'disc'),
    recorded('e', 6, 3, ''),
  ];
  expect(all.map((each) => recordingLabel(each, all))).toEqual(['1, disc', '1, gen, call 1', '1, gen, call 2', '5', '6, call 3']);
  const damaged = { ...recorded('f', 7, 0, ''), damage: 'recording 7-0: recording.json is missing.' };
  expect(recordingLabel(damaged, [damaged])).toBe('7, damaged');
});

test('a computed step is asked by tensor and walked by node', () => {
  const step = new ComputedStep(COMPUTED);
  expect(step.tensor('loss:0')).toMatchObject({ nan: 1, badVisit: 2, visits: 3, changed: true, shape: [] });
  expect(step.tensor('done:0')).toBeNull();
  expect([step.isBad('net/dense'), step.isBad('x'), step.badCount]).toEqual([true, false, 2]);
  expect([step.isOrigin('net/dense'), step.isOrigin('loss'), step.originCount]).toEqual([true, false, 1]);
  const bad = (node: string) => step.isBad(node);
  expect([step.next(-1, 1, bad), step.next(1, 1, bad), step.next(3, 1, bad), step.next(3, -1, bad)]).toEqual([1, 3, -1, 1]);
  expect([step.out(1), step.out(0), step.placeOf('loss'), step.placeOf('nobody')]).toEqual([3, 4, 3, -1]);
});

test('a tensor has the proof of its own hash; with changes there is none', () => {
  const words = ['x:0', 'net/dense:0', 'loss:0', 'unknown:0'].map((tensor) => proofOf(COMPUTED, tensor)?.word);
  expect(words).toEqual(['same', 'other', 'not captured', 'not captured']);
  expect(proofOf({ ...COMPUTED, proofs: null }, 'x:0')).toBeNull();
});

test('names stand before what was found of them, of which one column is left', () => {
  expect(nameColumns(['variable', 'gradient', 'analytic', 'numeric', 'error'])).toBe(2);
  expect([nameColumns(['tensor', 'op_type', 'line']), nameColumns(['tensor', 'gradient'])]).toEqual([1, 1]);
});

test('a line of the program loses the folders of its file, and nothing that divides', () => {
  expect(shortLine('/home/me/a:b/net.py:13  z = x / y')).toBe('net.py:13  z = x / y');
  expect([shortLine('net.py:13  z = x / y'), shortLine('z = x / y')]).toEqual(['net.py:13  z = x / y', 'z = x / y']);
});
