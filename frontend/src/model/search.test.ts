import { describe, expect, test } from 'vitest';
import { makeGraph } from './graph_fixture';
import { parseQuery, runQuery } from './search';

const graph = makeGraph([
  { path: 'net/dense/MatMul', layer: 'dense', shape: '32×10' },
  { path: 'net/dense_1/MatMul_1', op: 'BatchMatMulV2', layer: 'dense_1', shape: '32×4' },
  { path: 'net/Add', op: 'AddV2' },
  { path: 'net/Add_1', op: 'Add' },
  { path: 'loss/Überschuss', op: 'Sum' },
]);

const found = (text: string): string[] => [...runQuery(graph, parseQuery(text))].map((row) => graph.paths.at(row).replace(/^.*\//, ''));

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

  test('a broken pattern is told, and finds nothing', () => {
    expect(parseQuery('/dense(/').error).toMatch(/^not a regular expression/);
    expect(found('/dense(/ net')).toEqual([]);
    expect(parseQuery('dense').error).toBeNull();
  });

  test('is:nan and is:inf ask for the health of the step', () => {
    const health = { nan: (row: number) => row === 1, inf: (row: number) => row > 2 };
    expect([...runQuery(graph, parseQuery('is:nan'), health)]).toEqual([1]);
    expect([...runQuery(graph, parseQuery('is:inf net'), health)]).toEqual([3]);
  });

  test('scopes answer to their names without the numbers of Keras, where nothing has the name itself', () => {
    const keras = makeGraph(['net_1/conv1_1/Relu', 'net_1/conv1_1/Relu_1', 'net_1/conv2_1/Relu']);
    expect([...runQuery(keras, parseQuery('net/conv1/relu'))]).toEqual([0, 1]);
    expect([...runQuery(keras, parseQuery('net_1/conv2_1/Relu'))]).toEqual([2]);
  });

  test('a text does not match over the border of two names', () => {
    const two = makeGraph(['ab', 'cd']);
    expect([...runQuery(two, parseQuery('bc'))]).toEqual([]);
    expect([...runQuery(two, parseQuery('b'))]).toEqual([0]);
  });
});
