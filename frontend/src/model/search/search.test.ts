import { describe, expect, test } from 'vitest';
import { makeGraph } from '../graph/graph_fixture';
import { parseQuery } from './query';
import { NO_FACTS, runQuery } from './search';

const graph = makeGraph([
  { path: 'net/dense/MatMul', layer: 'dense', shape: '32×10' },
  { path: 'net/dense_1/MatMul_1', op: 'BatchMatMulV2', layer: 'dense_1', shape: '32×4' },
  { path: 'net/Add', op: 'AddV2' },
  { path: 'net/Add_1', op: 'Add' },
  { path: 'loss/Überschuss', op: 'Sum' },
]);

const found = (text: string): string[] =>
  [...runQuery(graph, parseQuery(text)).rows].map((row) => graph.paths.at(row).replace(/^.*\//, ''));

test('nodes found by name: those that compute come before gradients, and reads and arguments last', () => {
  const trained = makeGraph([
    { path: 'dense_kernel', op: '_Arg' },
    { path: 'dense/ReadVariableOp', op: 'ReadVariableOp' },
    'gradient_tape/dense/MatMul',
    'dense/MatMul',
  ]);
  const rows = (text: string) => [...runQuery(trained, parseQuery(text)).rows];
  expect(rows('dense')).toEqual([3, 2, 0, 1]);
  expect(rows('-op:add')).toEqual([0, 1, 2, 3]);
});

describe('search', () => {
  test.each([
    ['matmul', ['MatMul', 'MatMul_1']],
    ['DENSE_1', ['MatMul_1']],
    ['net mul', ['MatMul', 'MatMul_1']],
    ['net/dense/m', ['MatMul']],
    ['über', ['Überschuss']],
    ['/dense(_\\d+)?\\/mat/', ['MatMul', 'MatMul_1']],
    ['/^net/ op:add', ['Add_1']],
    ['/a b/', []],
    ['op:matmul', ['MatMul']],
    ['op:mul', ['MatMul', 'MatMul_1']],
    ['op:add', ['Add_1']],
    ['op:addv', ['Add']],
    ['net -op:matmul', ['MatMul_1', 'Add', 'Add_1']],
    ['-op:matmul -op:sum -layer:dense_1', ['Add', 'Add_1']],
    ['-/dense/', ['Add', 'Add_1', 'Überschuss']],
    ['net -mul', ['Add', 'Add_1']],
    ['-op:relu op:sum', ['Überschuss']],
    ['layer:dense', ['MatMul']],
    ['dtype:float32 op:sum', ['Überschuss']],
    ['shape:32x10', ['MatMul']],
    ['shape:32,4', ['MatMul_1']],
    ['device:gpu', []],
    ['is:nan', []],
    ['op:', []],
    ['nothing', []],
    ['', []],
    ['  ', []],
  ])('%s', (text, names) => {
    expect(found(text)).toEqual(names);
  });

  test('a broken pattern is message, and finds nothing', () => {
    expect(parseQuery('/dense(/').error).toMatch(/^not a regular expression/);
    expect(found('/dense(/ net')).toEqual([]);
    expect(parseQuery('dense').error).toBeNull();
  });

  test('is:nan and is:inf ask for the health of the step', () => {
    const health = { ...NO_FACTS, nan: (row: number) => row === 1, inf: (row: number) => row > 2 };
    expect([...runQuery(graph, parseQuery('is:nan'), health).rows]).toEqual([1]);
    expect([...runQuery(graph, parseQuery('is:inf net'), health).rows]).toEqual([3]);
  });

  test('scopes answer to their names without the numbers of Keras, where nothing has the name itself', () => {
    const keras = makeGraph(['net_1/conv1_1/Relu', 'net_1/conv1_1/Relu_1', 'net_1/conv2_1/Relu']);
    expect([...runQuery(keras, parseQuery('net/conv1/relu')).rows]).toEqual([0, 1]);
    expect([...runQuery(keras, parseQuery('net_1/conv2_1/Relu')).rows]).toEqual([2]);
  });

  test('a text does not match over the border of two names', () => {
    const two = makeGraph(['ab', 'cd']);
    expect([...runQuery(two, parseQuery('bc')).rows]).toEqual([]);
    expect([...runQuery(two, parseQuery('b')).rows]).toEqual([0]);
  });

  test('what is in no name is looked for in op types, layers, then letter by letter', () => {
    expect(found('batchmat')).toEqual(['MatMul_1']);
    expect(found('mtml')).toEqual(['MatMul', 'MatMul_1']);
    expect(runQuery(graph, parseQuery('mtml')).fuzzy).toBe(true);
    expect(runQuery(graph, parseQuery('matmul')).fuzzy).toBe(false);
    expect(found('mtml layer:dense_1')).toEqual(['MatMul_1']);
    expect(found('zq')).toEqual([]);
  });

  test("a tensor's name finds its node; a slot alone is no name", () => {
    expect(found('net/dense/MatMul:0')).toEqual(['MatMul']);
    expect(found(':0')).toEqual([]);
  });

  test('lines of the program and problems of the run', () => {
    const lines = {
      files: [
        { file: '/home/me/train.py', embedded: true },
        { file: '/home/me/model.py', embedded: true },
      ],
      stacks: [
        {
          frames: [
            [0, 17],
            [1, 4],
          ] as [number, number][],
          nodes: [0, 1],
        },
        { frames: [[0, 20]] as [number, number][], nodes: [4] },
      ],
    };
    const facts = {
      ...NO_FACTS,
      lines,
      problems: [
        { rule: 'DeadRelu', node: 'net/Add' },
        { rule: 'NaN', node: 'gone' },
      ],
    };
    const rows = (text: string) => [...runQuery(graph, parseQuery(text), facts).rows];
    expect(rows('model.py:4')).toEqual([0, 1]);
    expect(rows('train.py:17')).toEqual([0, 1]); // created in a call from there
    expect(rows('Train.py')).toEqual([4]);
    expect(rows('source:me/model.py:4 dense_1')).toEqual([1]);
    expect(rows('train.py:18')).toEqual([]);
    expect(rows('problem:dead')).toEqual([2]);
    expect(rows('is:dead')).toEqual([2]);
    expect(rows('problem:*')).toEqual([2]);
  });

  test.each([
    ['op:', /op: needs a value, e.g. op:MatMul/],
    ['[', /No match for "\["\. For a regex use/],
    ['/conv[', /close the regular expression with a slash/],
    ['ops:matmul', /ops: is not one of op:/],
    ['op:nothing', /no op in this graph contains nothing/],
    ['is:nan', /no node has NaN at this step/],
    ['is:dead', /this graph has no findings/],
    ['train.py:17', /still loading/],
  ])('%s says why it finds nothing', (text, message) => {
    expect(runQuery(graph, parseQuery(text)).message).toMatch(message);
  });
});
