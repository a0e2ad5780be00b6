import { expect, test } from 'vitest';
import { flowPositions, nextBadNode } from './bad_nodes';
import { indexOf, makeGraph } from './graph_fixture';

const inOrder = (graph: ReturnType<typeof makeGraph>): string[] =>
  Array.from(flowPositions(graph).entries())
    .sort(([, a], [, b]) => a - b)
    .map(([row]) => graph.paths.at(row));

test('nodes stand behind their inputs, whatever their rows', () => {
  expect(inOrder(makeGraph(['loss', 'b', 'x', 'a'], ['x -> a', 'a -> b', 'b -> loss', 'x -> loss']))).toEqual(['x', 'a', 'b', 'loss']);
});

test('a loop is cut where it closes, another cycle at its first node', () => {
  const loop = makeGraph(['NextIteration', 'Merge', 'body'], ['Merge -> body', 'body -> NextIteration', 'NextIteration -> Merge']);
  expect(inOrder(loop)).toEqual(['Merge', 'body', 'NextIteration']);
  expect(inOrder(makeGraph(['a', 'b'], ['a -> b', 'b -> a']))).toEqual(['a', 'b']);
});

const GRAPH = makeGraph(['loss', 'out', 'fine', 'log', 'x'], ['x -> log', 'log -> fine', 'fine -> out', 'out -> loss']);
const rows = (...names: string[]): number[] => names.map((name) => indexOf(GRAPH, name));

function walk(from: string | null, direction: 1 | -1, origins: string[] = []): string {
  const start = from === null ? -1 : indexOf(GRAPH, from);
  const row = nextBadNode(GRAPH, rows('loss', 'out', 'log'), rows(...origins), start, direction);
  return row === undefined ? '' : GRAPH.paths.at(row);
}

test('bad nodes follow one another as the data flows, around the ends', () => {
  expect([walk(null, 1), walk('log', 1), walk('out', 1), walk('loss', 1)]).toEqual(['log', 'out', 'loss', 'log']);
  expect([walk(null, -1), walk('loss', -1), walk('log', -1)]).toEqual(['loss', 'out', 'loss']);
});

test('origins come first', () => {
  expect([walk(null, 1, ['out']), walk('out', 1, ['out']), walk('log', 1, ['out'])]).toEqual(['out', 'log', 'loss']);
  expect(walk(null, 1, ['fine'])).toBe('log');
});

test('from a node that is fine to what lies behind it, or before it', () => {
  expect([walk('fine', 1), walk('fine', -1), walk('x', -1)]).toEqual(['out', 'log', 'loss']);
});

test('where none is bad there is none to go to', () => {
  expect(nextBadNode(GRAPH, [], [0], 1, 1)).toBeUndefined();
});
