/** The children of one scope and the edges between them, numbered locally: input of the steps of a scope's layout. */

import type { MetaEdges } from '../../model/graph/meta_edges';
import type { ScopeTree } from '../../model/graph/tree';

export interface ScopeGraph {
  readonly scope: number;
  /** Entities of the children. */
  readonly entities: Int32Array;
  /** Meta edges by local numbers of their ends; `meta` is the number of the first one, the rest follow. */
  readonly firstMeta: number;
  readonly source: number[];
  readonly target: number[];
  /** 1 if the edge affects the layout: data edges, and control edges of children without data edges. */
  readonly shapes: number[];
  /** 1 if there are only control edges. */
  readonly control: number[];
  /** Number of graph edges in each. */
  readonly weight: number[];
}

/** `local` is scratch, one number per entity. */
export function scopeGraph(tree: ScopeTree, meta: MetaEdges, scope: number, local: Int32Array): ScopeGraph {
  const entities = tree.children.subarray(tree.childStart[scope]!, tree.childStart[scope + 1]!);
  for (let i = 0; i < entities.length; i++) local[entities[i]!] = i;
  const [first, end] = [meta.start[scope]!, meta.start[scope + 1]!];
  const source: number[] = [];
  const target: number[] = [];
  const shapes: number[] = [];
  const control: number[] = [];
  const weight: number[] = [];
  const hasData = new Array<number>(entities.length).fill(0);
  for (let m = first; m < end; m++) {
    const [a, b] = [local[meta.source[m]!]!, local[meta.target[m]!]!];
    source.push(a);
    target.push(b);
    const data = meta.data[m]! > 0 ? 1 : 0;
    shapes.push(data);
    control.push(1 - data);
    weight.push(meta.data[m]! + meta.control[m]!);
    if (data) hasData[a] = hasData[b] = 1;
  }
  for (let i = 0; i < shapes.length; i++) {
    if (!shapes[i] && !(hasData[source[i]!] && hasData[target[i]!])) shapes[i] = 1;
  }
  return { scope, entities, firstMeta: first, source, target, shapes, control, weight };
}
