import { expect, test } from 'vitest';
import { captured, written } from './layers_fixture';
import { graphOfPart, PART_SCOPES, partsOf } from './parts';

const { graph, roles } = captured('cnn');
const tops = (paths: { at(row: number): string }): Set<string> =>
  new Set(Array.from({ length: graph.nodeCount }, (_, row) => paths.at(row).split('/')[0]!));

test('a train step has all parts', () => {
  expect(partsOf(graph, roles.role)).toEqual(['forward', 'loss', 'backward', 'optimizer', 'metrics', 'all']);
});

test('a graph of one part is shown whole', () => {
  const one = written(['net/a/read ReadVariableOp net/a', 'net/a/Relu Relu net/a net/a/read']);
  expect(partsOf(one.graph, one.roles.role)).toEqual(['all']);
});

test('the forward pass shows the model, every other part is one scope', () => {
  const forward = graphOfPart(graph, roles.role, 'forward');
  const shown = [...tops(forward.paths)].filter((top) => !PART_SCOPES.has(top));
  expect(shown).toContain('cnn_1');
  expect(shown.some((top) => /gradient|adam|AddN|Assign/i.test(top))).toBe(false);
  expect(tops(forward.paths)).toContain('Backward pass');
});

test('rows and names stay, so that selection, colours and statistics fit', () => {
  const backward = graphOfPart(graph, roles.role, 'backward');
  expect(backward.names).toBe(graph.names);
  expect(backward.nodeCount).toBe(graph.nodeCount);
  expect(tops(backward.paths)).toContain('gradient_tape');
});

test('edges join nodes of one part, and lead to the part that is shown', () => {
  const forward = graphOfPart(graph, roles.role, 'forward');
  expect(forward.edges.source.length).toBeLessThan(graph.edges.source.length);
  const crossing = [...forward.edges.source].map((from, edge) => [
    forward.paths.at(from).split('/')[0]!,
    forward.paths.at(forward.edges.target[edge]!).split('/')[0]!,
  ]);
  for (const [from, to] of crossing) if (PART_SCOPES.has(to!) && from !== to) throw new Error(`${from} leads to ${to}`);
  expect(crossing.some(([from, to]) => from === 'Input' && !PART_SCOPES.has(to!))).toBe(true);
});

test('all is the graph itself', () => {
  expect(graphOfPart(graph, roles.role, 'all')).toBe(graph);
});
