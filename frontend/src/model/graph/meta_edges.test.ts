import { describe, expect, test } from 'vitest';
import type { GraphData } from '../wire/graph';
import { makeGraph, treeOf } from './graph_fixture';
import { buildMetaEdges } from './meta_edges';
import { entityLabel } from './tree';

/** Meta edges by scope: `scope: from>to data/control`. */
function outline(graph: GraphData, callers: string[] = []): string[] {
  const tree = treeOf(graph, callers);
  const meta = buildMetaEdges(tree, graph.edges);
  const label = (entity: number): string => entityLabel(tree, graph.paths, entity);
  const lines: string[] = [];
  for (let scope = 0; scope < tree.scopeCount; scope++) {
    for (let m = meta.start[scope]!; m < meta.start[scope + 1]!; m++) {
      const single = meta.single[m] ? '' : ' several';
      lines.push(
        `${label(tree.nodeCount + scope)}: ${label(meta.source[m]!)}>${label(meta.target[m]!)} ${meta.data[m]}/${meta.control[m]}${single}`,
      );
    }
  }
  return lines;
}

const NODES = ['x', 'a/p', 'a/q', 'a/in/r', 'a/in/s', 'b/t', 'b/u'];

describe('buildMetaEdges', () => {
  test('lifts edges to siblings and counts them', () => {
    const graph = makeGraph(NODES, ['x -> a/p', 'a/p -> a/in/r', 'a/in/r -> a/in/s', 'a/in/s -> b/t', 'a/in/r -> b/u', 'a/q => b/t']);
    expect(outline(graph)).toEqual([': x>a 1/0', ': a>b 2/1 several', 'a: p>in 1/0', 'in: r>s 1/0']);
  });

  test('knows bundles of one tensor', () => {
    const graph = makeGraph(NODES, ['x -> a/p', 'x -> a/q', 'x => b/t']);
    expect(outline(graph)).toEqual([': x>a 2/0', ': x>b 0/1']);
  });

  test('counts what crosses borders, data only', () => {
    const graph = makeGraph(NODES, ['x -> a/in/r', 'a/in/s -> b/t', 'x => a/in/s']);
    const tree = treeOf(graph);
    const { fromOutside, toOutside } = buildMetaEdges(tree, graph.edges);
    const of = (counts: Int32Array) =>
      Object.fromEntries([...counts].flatMap((n, e) => (n ? [[entityLabel(tree, graph.paths, e), n]] : [])));
    expect(of(fromOutside)).toEqual({ r: 1, in: 1, t: 1 });
    expect(of(toOutside)).toEqual({ s: 1, in: 1 });
  });

  test('edges between a call and its body stay inside', () => {
    const graph = makeGraph(['x', 'f', 'f/arg', 'f/Add', 'y'], ['x -> f', 'x -> f/arg', 'f/arg -> f/Add', 'f/Add -> f', 'f -> y']);
    expect(outline(graph, ['f'])).toEqual([': x>f 2/0', ': f>y 1/0', 'f: arg>Add 1/0']);
  });

  test('cycles between scopes are two edges', () => {
    const graph = makeGraph(['a/p', 'a/q', 'b/t', 'b/u'], ['a/p -> b/t', 'b/u -> a/q']);
    expect(outline(graph)).toEqual([': a>b 1/0', ': b>a 1/0']);
  });
});
