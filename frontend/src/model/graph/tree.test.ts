import { describe, expect, test } from 'vitest';
import type { GraphData } from '../wire/graph';
import { indexOf, makeGraph, treeOf } from './graph_fixture';
import { enclosingScopes, entityLabel, findScope, openScopes, type ScopeTree, scopePath, shownEntity } from './tree';

/** The tree as nested lists of labels; owners are marked by `!`. */
function outline(tree: ScopeTree, graph: GraphData, scope = 0): unknown[] {
  const out: unknown[] = [];
  for (let i = tree.childStart[scope]!; i < tree.childStart[scope + 1]!; i++) {
    const child = tree.children[i]!;
    const label = entityLabel(tree, graph.paths, child);
    if (child < tree.nodeCount) out.push(label);
    else {
      const mark = tree.owner[child - tree.nodeCount]! >= 0 ? '!' : '';
      out.push([`${label}${mark}`, ...outline(tree, graph, child - tree.nodeCount)]);
    }
  }
  return out;
}

const shape = (graph: GraphData, callers: string[] = []): unknown[] => outline(treeOf(graph, callers), graph);

describe('buildTree', () => {
  test('nests scopes in the order they first appear', () => {
    const graph = makeGraph(['b/MatMul', 'a/Add', 'b/Relu', 'a/Mul', 'loss']);
    expect(shape(graph)).toEqual([['b', 'MatMul', 'Relu'], ['a', 'Add', 'Mul'], 'loss']);
  });

  test('merges chains of scopes with one child', () => {
    const graph = makeGraph(['x/y/z/Add', 'x/y/z/Mul', 'x/y/z/w/Sub', 'x/y/z/w/Div']);
    expect(shape(graph)).toEqual([['x/y/z', 'Add', 'Mul', ['w', 'Sub', 'Div']]]);
  });

  test('dissolves a scope that is one node and its constants and reads', () => {
    const graph = makeGraph(['net/dense/MatMul/ReadVariableOp', 'net/dense/MatMul', 'net/dense/Add', 'net/Sub/y', 'net/Sub'].map(withOp));
    expect(shape(graph)).toEqual([['net', ['dense', 'MatMul/ReadVariableOp', 'MatMul', 'Add'], 'Sub/y', 'Sub']]);
  });

  test('dissolves scopes inside each other, innermost first', () => {
    const graph = makeGraph(['m/f/a/b/Relu', 'm/Add', 'm/Mul']);
    expect(shape(graph)).toEqual([['m', 'f/a/b/Relu', 'Add', 'Mul']]);
  });

  test('keeps variable reads out of a long top level', () => {
    const paths = ['Add/ReadVariableOp', 'Add', 'Sub/y', 'Sub'];
    expect(shape(makeGraph(paths.map(withOp)))).toEqual(['Add/ReadVariableOp', 'Add', 'Sub/y', 'Sub']);
    const many = Array.from({ length: 30 }, (_, i) => `n${i}`);
    expect(shape(makeGraph([...paths, ...many].map(withOp)))).toEqual([['Add', 'ReadVariableOp', 'Add'], 'Sub/y', 'Sub', ...many]);
  });

  test('a function body stands for the node that calls it', () => {
    const graph = makeGraph(['x', 'call', 'call/MatMul', 'call/Add', 'y']);
    const tree = treeOf(graph, ['call']);
    expect(outline(tree, graph)).toEqual(['x', ['call!', 'MatMul', 'Add'], 'y']);
    const entity = tree.entityOf[indexOf(graph, 'call')]!;
    expect(entity).toBe(tree.nodeCount + 1);
    expect(tree.nodesIn[1]).toBe(3);
    expect(tree.parent[indexOf(graph, 'call')]).toBe(-1);
  });

  test('a body in a scope of its own takes that scope along', () => {
    const graph = makeGraph(['while', 'while/body/Add', 'while/body/Mul', 'while/cond/Less', 'while/cond/And']);
    expect(shape(graph, ['while'])).toEqual([['while!', ['body', 'Add', 'Mul'], ['cond', 'Less', 'And']]]);
    const single = makeGraph(['call', 'call/inner/Add', 'call/inner/Mul']);
    expect(shape(single, ['call'])).toEqual([['call/inner!', 'Add', 'Mul']]);
  });

  test('nested calls keep both owners', () => {
    const graph = makeGraph(['f', 'f/g', 'f/g/Add', 'f/g/Mul']);
    expect(shape(graph, ['f', 'f/g'])).toEqual([['f!', ['g!', 'Add', 'Mul']]]);
  });

  test('reads paths that are not ASCII', () => {
    const graph = makeGraph(['größe/größe/Add', 'größe/größe/Mul', 'größe/x', 'größe/y']);
    expect(shape(graph)).toEqual([['größe', ['größe', 'Add', 'Mul'], 'x', 'y']]);
  });

  test('an empty graph has one scope', () => {
    const tree = treeOf(makeGraph([]));
    expect([tree.scopeCount, tree.nodeCount, tree.children.length]).toEqual([1, 0, 0]);
  });

  test('scopes are numbered depth first', () => {
    const tree = treeOf(makeGraph(['a/p/Add', 'a/p/Mul', 'b/Add', 'b/Mul', 'a/Sub', 'a/Div']));
    expect([...tree.subtreeEnd]).toEqual([4, 3, 3, 4]);
    expect([...tree.depth]).toEqual([0, 1, 2, 1]);
    expect([...tree.nodesIn]).toEqual([6, 4, 2, 2]);
  });
});

describe('finding the way', () => {
  const graph = makeGraph(['a/b/c/Add', 'a/b/c/Mul', 'a/b/c/d/Sub', 'a/b/c/d/Div', 'ab/X', 'ab/Y']);
  const tree = treeOf(graph);
  const path = (wanted: string): string => scopePath(tree, graph.paths, findScope(tree, graph.paths, wanted));

  test.each([
    ['a/b/c', 'a/b/c'],
    ['a', 'a/b/c'],
    ['a/b', 'a/b/c'],
    ['a/b/c/d', 'a/b/c/d'],
    ['a/b/c/nothing', 'a/b/c'],
    ['ab', 'ab'],
    ['abc', ''],
    ['', ''],
  ])('%s is found at %s', (wanted, found) => {
    expect(path(wanted)).toBe(found);
  });

  test('what is hidden is shown by the outermost closed scope', () => {
    const sub = indexOf(graph, 'a/b/c/d/Sub');
    const open = new Uint8Array(tree.scopeCount);
    expect(entityLabel(tree, graph.paths, shownEntity(tree, open, sub))).toBe('a/b/c');
    open[findScope(tree, graph.paths, 'a/b/c')] = 1;
    expect(entityLabel(tree, graph.paths, shownEntity(tree, open, sub))).toBe('d');
    open[findScope(tree, graph.paths, 'a/b/c/d')] = 1;
    expect(shownEntity(tree, open, sub)).toBe(sub);
    expect(enclosingScopes(tree, sub).map((scope) => scopePath(tree, graph.paths, scope))).toEqual(['a/b/c/d', 'a/b/c']);
  });
});

test('of the open scopes the innermost tell all', () => {
  const tree = treeOf(makeGraph(['a/p/Add', 'a/p/Mul', 'a/q/Add', 'a/q/Mul', 'b/Sub', 'b/Div']));
  expect(openScopes(tree, Uint8Array.of(1, 1, 0, 1, 1))).toEqual({ innermost: [3, 4], count: 3 });
  expect(openScopes(tree, Uint8Array.of(1, 1, 0, 0, 0))).toEqual({ innermost: [1], count: 1 });
  expect(openScopes(tree, new Uint8Array(5))).toEqual({ innermost: [], count: 0 });
});

function withOp(path: string): { path: string; op: string } {
  const label = path.slice(path.lastIndexOf('/') + 1);
  return { path, op: /^[xy]$/.test(label) ? 'Const' : label };
}
