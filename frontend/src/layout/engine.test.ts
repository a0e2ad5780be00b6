import { describe, expect, test } from 'vitest';
import { indexOf, makeGraph, makeLargeGraph, treeAndMeta } from '../model/graph/graph_fixture';
import { entityLabel, findScope, type ScopeTree } from '../model/graph/tree';
import type { GraphData } from '../model/wire/graph';
import { LayoutEngine } from './engine';
import { PlacedGraph } from './placed';

function start(graph: GraphData): { tree: ScopeTree; engine: LayoutEngine; placed: PlacedGraph; show: () => void } {
  const { tree, meta } = treeAndMeta(graph);
  const engine = new LayoutEngine({ tree, meta, columns: graph });
  const placed = new PlacedGraph(tree);
  const show = (): void => placed.apply(engine.relayoutNow());
  show();
  return { tree, engine, placed, show };
}

const allScopes = (tree: ScopeTree): number[] => Array.from({ length: tree.scopeCount - 1 }, (_, i) => i + 1);

/** Violations of the layout's guarantees, for every laid-out scope. */
function breaches(placed: PlacedGraph): string[] {
  const { tree, left, top, width, height } = placed;
  const found: string[] = [];
  for (let scope = 0; scope < tree.scopeCount; scope++) {
    if (!placed.known[scope] || !placed.open[scope]) continue;
    const children = tree.children.subarray(tree.childStart[scope]!, tree.childStart[scope + 1]!);
    const parent = tree.nodeCount + scope;
    const sorted = [...children].sort((a, b) => top[a]! - top[b]!);
    sorted.forEach((a, i) => {
      const inside =
        left[a]! >= 0 && top[a]! >= 0 && left[a]! + width[a]! <= width[parent]! + 0.01 && top[a]! + height[a]! <= height[parent]! + 0.01;
      if (!inside) found.push(`${a} leaves scope ${scope}`);
      for (let j = i + 1; j < sorted.length && top[sorted[j]!]! < top[a]! + height[a]! - 0.01; j++) {
        const b = sorted[j]!;
        if (left[a]! < left[b]! + width[b]! - 0.01 && left[b]! < left[a]! + width[a]! - 0.01)
          found.push(`${a} and ${b} overlap in scope ${scope}`);
      }
    });
  }
  return found;
}

/** Boxes of all visible entities, short enough for a test message. */
function snapshot({ tree, open, left, top, width, height }: PlacedGraph): string {
  let hash = 0;
  let boxes = 0;
  for (let scope = 0; scope < tree.scopeCount; scope = open[scope] ? scope + 1 : tree.subtreeEnd[scope]!) {
    for (let i = tree.childStart[scope]!; open[scope] && i < tree.childStart[scope + 1]!; i++, boxes++) {
      const child = tree.children[i]!;
      for (const numbers of [left, top, width, height]) hash = (Math.imul(hash, 31) + Math.round(numbers[child]! * 64)) | 0;
    }
  }
  return `${boxes} boxes ${hash}`;
}

describe('LayoutEngine', () => {
  test('keeps children inside their scopes and apart, whatever is open', () => {
    const { tree, engine, placed, show } = start(makeLargeGraph(1500));
    expect(breaches(placed)).toEqual([]);
    for (const scopes of [[1], allScopes(tree).filter((scope) => scope % 3 === 0), allScopes(tree)]) {
      engine.setOpen(scopes, true);
      show();
      expect(breaches(placed)).toEqual([]);
    }
  });

  test('closing what was opened brings the layout back', () => {
    const { tree, engine, placed, show } = start(makeLargeGraph(600));
    engine.setOpen([1], true);
    show();
    const before = snapshot(placed);
    const inner = allScopes(tree).find((scope) => tree.parent[tree.nodeCount + scope] === 1)!;
    engine.setOpen([inner], true);
    show();
    expect(snapshot(placed)).not.toBe(before);
    engine.setOpen([inner], false);
    show();
    expect(snapshot(placed)).toBe(before);
  });

  test('does not depend on the order in which scopes were opened', () => {
    const graph = makeLargeGraph(240);
    const [one, other] = [start(graph), start(graph)];
    const scopes = allScopes(one.tree);
    one.engine.setOpen(scopes, true);
    one.show();
    for (const scope of scopes) {
      other.engine.setOpen([scope], true);
      other.show();
    }
    expect(snapshot(other.placed)).toBe(snapshot(one.placed));
  });

  test('lays out nothing that is closed', () => {
    const { tree, engine, placed, show } = start(makeLargeGraph(600));
    expect([...placed.known].filter(Boolean)).toHaveLength(1);
    // Expanded inside a collapsed scope: invisible, so not laid out.
    const hidden = tree.subtreeEnd[1]! + 1;
    engine.setOpen([hidden], true);
    engine.setOpen([1], true);
    expect(engine.shownDirty()).toEqual([0, 1]);
    show();
    expect(engine.shownDirty()).toEqual([]);
  });

  test('opening a scope leaves the order of its siblings as it is', () => {
    const nodes = ['in', 'a/x', 'a/y', 'a/z', 'b/x', 'b/y', 'b/z', 'c/x', 'c/y', 'c/z', 'out'];
    const edges = [
      'in -> a/x',
      'in -> b/x',
      'in -> c/x',
      'a/x -> a/y',
      'a/y -> a/z',
      'b/x -> b/y',
      'b/y -> b/z',
      'a/z -> out',
      'b/z -> out',
      'c/z -> out',
    ];
    const graph = makeGraph(nodes, edges);
    const { tree, engine, placed, show } = start(graph);
    const row = (): string[] => ['a', 'b', 'c'].sort((p, q) => placed.left[entity(p)]! - placed.left[entity(q)]!);
    const entity = (path: string): number => tree.nodeCount + findScope(tree, graph.paths, path);
    const before = row();
    engine.setOpen([findScope(tree, graph.paths, before[1]!)], true);
    show();
    expect(row()).toEqual(before);
  });

  test('small nodes stand left of what they feed', () => {
    const graph = makeGraph(
      [{ path: 'n/w', op: 'Const' }, { path: 'n/read', op: 'ReadVariableOp' }, 'n/MatMul', 'n/Add'],
      ['n/w -> n/read', 'n/read -> n/MatMul', 'n/MatMul -> n/Add'],
    );
    const { engine, placed, show } = start(graph);
    engine.setOpen([1], true);
    show();
    const [w, read, matmul, add] = [0, 1, 2, 3] as const;
    expect(placed.left[w]! + placed.width[w]!).toBeLessThan(placed.left[read]!);
    expect(placed.left[read]! + placed.width[read]!).toBeLessThan(placed.left[matmul]!);
    expect(Math.abs(placed.top[read]! + placed.height[read]! / 2 - placed.top[matmul]! - placed.height[matmul]! / 2)).toBeLessThan(1);
    // The main line stays straight.
    expect(placed.left[matmul]! + placed.width[matmul]! / 2).toBeCloseTo(placed.left[add]! + placed.width[add]! / 2, 3);
  });

  test('a constant that feeds hundreds does not make one row of them', () => {
    const nodes = ['o/rate', ...Array.from({ length: 300 }, (_, i) => [`o/Mul_${i}`, `o/Sub_${i}`]).flat()];
    const edges = Array.from({ length: 300 }, (_, i) => [`o/rate -> o/Mul_${i}`, `o/Mul_${i} -> o/Sub_${i}`]).flat();
    const { engine, placed, tree, show } = start(makeGraph(nodes, edges));
    engine.setOpen([1], true);
    show();
    const ratio = placed.width[tree.nodeCount + 1]! / placed.height[tree.nodeCount + 1]!;
    expect(ratio).toBeGreaterThan(0.6);
    expect(ratio).toBeLessThan(3);
    expect(breaches(placed)).toEqual([]);
  });

  test('hundreds of nodes without edges become one block', () => {
    const nodes = Array.from({ length: 400 }, (_, i) => ({ path: `vars/v_${i}`, op: 'VarHandleOp' }));
    const { engine, placed, tree, show } = start(makeGraph(nodes));
    engine.setOpen([1], true);
    show();
    expect(placed.blocks[1]).toHaveLength(4);
    expect(placed.width[tree.nodeCount + 1]! / placed.height[tree.nodeCount + 1]!).toBeGreaterThan(0.8);
  });

  test('twenty thousand nodes, all open', () => {
    const { tree, engine, placed, show } = start(makeLargeGraph(20_000));
    engine.setOpen(allScopes(tree), true);
    show();
    expect(breaches(placed)).toEqual([]);
    expect([...placed.known].every((known) => known === 1)).toBe(true);
  }, 60_000);

  test('routes begin and end at the boxes they connect', () => {
    const graph = makeGraph(['a/x', 'a/y', 'b/x', 'b/y', 'c'], ['a/x -> b/x', 'b/y -> c', 'a/y -> c']);
    const { tree, engine, placed, show } = start(graph);
    engine.setOpen([1], true);
    show();
    const routes = placed.routes[0]!;
    const a = tree.nodeCount + 1;
    expect(entityLabel(tree, graph.paths, a)).toBe('a');
    expect(routes[2]).toBeCloseTo(placed.top[a]! + placed.height[a]!, 2);
    expect(indexOf(graph, 'c')).toBe(4);
  });
});

test('a name with characters that are written out has room for them', () => {
  const { tree, placed } = start(makeGraph(['aaaa\u202e\u202e\u202ebbbb', 'aaaaxxxbbbb']));
  const [written, plain] = [0, 1].map((row) => placed.width[tree.entityOf[row]!]!);
  expect(written).toBeGreaterThan(plain!);
});
