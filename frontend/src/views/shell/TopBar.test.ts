import { expect, test } from 'vitest';
import type { GraphEntry } from '../../model/wire/answers';
import { graphChoices } from './TopBar';

function graph(id: string, name: string, first: number | null, last: number | null, snapshots: number): GraphEntry {
  return { id, name, way: '', nodes: 1200, edges: 0, functions: 0, snapshots, nonfinite: 0, steps: { first, last, count: 1 }, workers: [] };
}

test('graphs of one name are told apart by their steps', () => {
  const choices = graphChoices([graph('a', 'step', 0, 55, 7500), graph('b', 'step', 60, 60, 10), graph('c', 'predict', 61, 62, 1)]);
  expect(choices.map((choice) => choice.name)).toEqual(['step · steps 0…55', 'step · step 60', 'predict']);
  expect(choices[0]?.detail).toBe('steps 0…55 · 7,500 snapshots · 1,200 nodes');
});

test('graphs without a name, or without snapshots, have something to be called by', () => {
  const choices = graphChoices([graph('-', '', 0, 1, 2), graph('9f', '', null, null, 0)]);
  expect(choices.map(({ name }) => name)).toEqual(['without a graph', '9f']);
  expect(choices[1]?.detail).toBe('no snapshots · 1,200 nodes');
});
