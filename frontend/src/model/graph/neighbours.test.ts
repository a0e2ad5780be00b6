import { describe, expect, test } from 'vitest';
import { indexOf, makeGraph, treeAndMeta } from './graph_fixture';
import { countInScopes, gradientsOf, move, shownNeighbours } from './neighbours';
import { entityLabel, findScope } from './tree';

const graph = makeGraph(
  ['x', 'a/p', 'a/q', 'b/t', 'b/u', 'c'],
  ['x -> a/p', 'a/p -> a/q', 'a/q -> b/t', 'a/q -> b/u', 'a/q => c', 'b/u -> c'],
);
const { tree, meta } = treeAndMeta(graph);

function neighbours(path: string, ...open: string[]): string[] {
  const flags = new Uint8Array(tree.scopeCount);
  for (const scope of open) flags[findScope(tree, graph.paths, scope)] = 1;
  const entity = path.endsWith('/') ? tree.nodeCount + findScope(tree, graph.paths, path.slice(0, -1)) : indexOf(graph, path);
  return shownNeighbours(tree, graph.edges, meta, flags, entity).map(
    (n) => `${n.input ? 'from' : 'to'} ${entityLabel(tree, graph.paths, n.entity)}${n.control ? ' (control)' : ''}`,
  );
}

describe('shownNeighbours', () => {
  test('reaches through closed scopes, each neighbour once', () => {
    expect(neighbours('a/q', 'a')).toEqual(['from p', 'to b', 'to c (control)']);
    expect(neighbours('a/q', 'a', 'b')).toEqual(['from p', 'to t', 'to u', 'to c (control)']);
  });

  test('of a node in a closed scope are those outside of that scope', () => {
    expect(neighbours('a/q')).toEqual(['to b', 'to c (control)']);
  });

  test('of a scope are the siblings it has edges with', () => {
    expect(neighbours('a/')).toEqual(['from x', 'to b', 'to c (control)']);
    expect(neighbours('b/', 'a')).toEqual(['from a', 'to c']);
  });
});

test('counts nodes in all the scopes that hold them', () => {
  const counts = countInScopes(tree, [indexOf(graph, 'a/p'), indexOf(graph, 'a/q'), indexOf(graph, 'c')]);
  expect([...counts]).toEqual([3, 2, 0]);
});

describe('move', () => {
  const open = new Uint8Array(tree.scopeCount);
  const entity = (path: string): number =>
    path === 'a' || path === 'b' ? tree.nodeCount + findScope(tree, graph.paths, path) : indexOf(graph, path);
  // x above a; b on the right of a; c far to the right and lower.
  const places: Record<string, [number, number]> = { x: [0, 0], a: [0, 100], b: [200, 100], c: [120, 300] };
  const boxes = {
    left: new Float32Array(9),
    top: new Float32Array(9),
    width: new Float32Array(9).fill(50),
    height: new Float32Array(9).fill(20),
  };
  for (const [path, [left, top]] of Object.entries(places)) {
    boxes.left[entity(path)] = left;
    boxes.top[entity(path)] = top;
  }
  const from = (path: string, direction: 'up' | 'down' | 'left' | 'right'): string => {
    const to = move(tree, boxes, shownNeighbours(tree, graph.edges, meta, open, entity(path)), entity(path), direction);
    return to < 0 ? '' : entityLabel(tree, graph.paths, to);
  };

  test.each([
    ['a', 'up', 'x'],
    ['a', 'down', 'b'],
    ['x', 'up', ''],
    ['a', 'right', 'b'],
    ['b', 'left', 'a'],
    ['a', 'left', ''],
    ['c', 'up', 'b'],
  ] as const)('%s %s leads to %s', (path, direction, to) => {
    expect(from(path, direction)).toBe(to);
  });
});

const taped = makeGraph([
  'dense/MatMul',
  'dense/MatMul_1',
  'gradient_tape/dense/MatMul/MatMul_1',
  'gradient_tape/dense/MatMul_1',
  'step/gradient_tape/dense/MatMul/Mul',
  'gradients/dense/MatMul_grad/MatMul',
  'other_gradient_tape/dense/MatMul/Mul',
]);

test.each([
  ['dense/MatMul', [2, 4, 5]],
  ['dense/MatMul_1', [3]],
  ['dense/Relu', []],
])('gradients of %s', (node, rows) => {
  expect(gradientsOf(taped, node)).toEqual(rows);
});
