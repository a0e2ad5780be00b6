import { expect, test } from 'vitest';
import { DictColumn } from '../../lib/arrays/columns';
import type { StepStatistics } from '../wire/step_statistics';
import { describeEdge, type Subject } from './describe';
import { makeGraph, treeAndMeta } from './graph_fixture';

/** The facts of the only edge between two labelled entities. */
function facts(edges: readonly string[], title: string, slot = 0): Record<string, string> {
  const graph = makeGraph([{ path: 'a/x', shape: '2×3' }, 'a/y', 'b/z', 'b/w'], edges);
  graph.edges.slot.fill(slot);
  const { tree, meta } = treeAndMeta(graph);
  const step = {
    node: Int32Array.of(0, 0),
    slot: Int32Array.of(0, 1),
    dtype: DictColumn.of(['float32', 'int64']),
  } as unknown as StepStatistics;
  const subject: Subject = { graph, tree, meta, step, health: new Uint8Array(9), rowsOf: (node) => (node === 0 ? [0, 1] : []) };
  const found = Array.from(meta.source, (_, edge) => describeEdge(subject, edge)).filter((each) => each.title === title);
  expect(found).toHaveLength(1);
  return Object.fromEntries(found[0]!.facts.map(({ name, value }) => [name, value]));
}

test('an edge between two nodes tells its tensor and type', () => {
  expect(facts(['a/x -> a/y'], 'x → y')).toEqual({ tensor: 'a/x:0', type: 'float32 2×3' });
});

test('an edge between scopes tells the nodes that it joins, too', () => {
  expect(facts(['a/x -> b/z'], 'a → b')).toEqual({ tensor: 'a/x:0', type: 'float32 2×3', from: 'a/x', to: 'b/z' });
});

test('one tensor that goes to several nodes of a scope has no single end', () => {
  const told = facts(['a/x -> b/z', 'a/x -> b/w'], 'a → b');
  expect(told).toEqual({ tensor: 'a/x:0', type: 'float32 2×3', from: 'a/x', 'data edges': '2' });
});

test('of a later output the dtype is that of its snapshot', () => {
  expect(facts(['a/x -> a/y'], 'x → y', 1)).toEqual({ tensor: 'a/x:1', type: 'int64' });
});
