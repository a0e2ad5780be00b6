/** Puts repeated blocks onto stacks: the same tree with a scope more for each group, numbered depth first again. */

import type { BlockGroup } from './stacks';
import type { ScopeTree, Stack } from './tree';
import { sumSubtrees } from './tree_writer';

/** `groups` become stacks; the blocks of `loose` stay where they are, and the tree says where they could be. */
export function insertStacks(tree: ScopeTree, groups: readonly BlockGroup[], loose: readonly BlockGroup[]): ScopeTree {
  return new StackWriter(tree, groups, loose).write();
}

class StackWriter {
  /** Group of each scope of the old tree, or -1. */
  private readonly groupOf: Int32Array;
  /** Scopes of the new tree: a scope of the old one, or `~group`. */
  private readonly order: Int32Array;
  private readonly scopeOf: Int32Array;
  private readonly stackOf: Int32Array;

  constructor(
    private readonly tree: ScopeTree,
    private readonly groups: readonly BlockGroup[],
    private readonly loose: readonly BlockGroup[],
  ) {
    this.groupOf = new Int32Array(tree.scopeCount).fill(-1);
    groups.forEach(({ blocks }, group) => {
      for (const block of blocks) this.groupOf[block] = group;
    });
    this.order = new Int32Array(tree.scopeCount + groups.length);
    this.scopeOf = new Int32Array(tree.scopeCount);
    this.stackOf = new Int32Array(groups.length);
    this.number();
  }

  write(): ScopeTree {
    const { tree, order, scopeOf, stackOf } = this;
    const out = this.emptyTree();
    let filled = 0;
    for (let scope = 0; scope < order.length; scope++) {
      this.copyScope(out, order[scope]!, scope);
      out.childStart[scope] = filled;
      for (const item of this.childrenOf(order[scope]!)) {
        const child =
          item < 0 ? tree.nodeCount + stackOf[~item]! : item < tree.nodeCount ? item : tree.nodeCount + scopeOf[item - tree.nodeCount]!;
        out.children[filled++] = child;
        out.parent[child] = scope;
        if (child >= tree.nodeCount) out.depth[child - tree.nodeCount] = out.depth[scope]! + 1;
      }
    }
    out.childStart[order.length] = filled;
    sumSubtrees(out);
    return out;
  }

  /** Numbers all scopes, depth first. */
  private number(): void {
    const { tree, order } = this;
    const waiting = [0];
    for (let count = 0, item = waiting.pop(); item !== undefined; count++, item = waiting.pop()) {
      order[count] = item;
      if (item < 0) this.stackOf[~item] = count;
      else this.scopeOf[item] = count;
      const inside = this.childrenOf(item);
      for (let i = inside.length - 1; i >= 0; i--) {
        const child = inside[i]!;
        if (child < 0) waiting.push(child);
        else if (child >= tree.nodeCount) waiting.push(child - tree.nodeCount);
      }
    }
  }

  /** Entities of the old tree, and `~group` where the first block of a group was. */
  private childrenOf(item: number): ArrayLike<number> & Iterable<number> {
    const { tree } = this;
    if (item < 0) return this.groups[~item]!.blocks.map((block) => tree.nodeCount + block);
    const children = tree.children.subarray(tree.childStart[item], tree.childStart[item + 1]);
    const grouped = (entity: number): number => (entity < tree.nodeCount ? -1 : this.groupOf[entity - tree.nodeCount]!);
    if (!children.some((child) => grouped(child) >= 0)) return children;
    const kept: number[] = [];
    for (const child of children) {
      const group = grouped(child);
      if (group < 0) kept.push(child);
      else if (this.groups[group]!.blocks[0] === child - tree.nodeCount) kept.push(~group);
    }
    return kept;
  }

  private emptyTree(): ScopeTree {
    const { tree, order, scopeOf, stackOf, groups } = this;
    const scopes = (): Int32Array => new Int32Array(order.length);
    const moved = (entity: number): number => (entity < tree.nodeCount ? entity : tree.nodeCount + scopeOf[entity - tree.nodeCount]!);
    return {
      nodeCount: tree.nodeCount,
      scopeCount: order.length,
      parent: new Int32Array(tree.nodeCount + order.length).fill(-1),
      childStart: new Int32Array(order.length + 1),
      children: new Int32Array(tree.children.length + groups.length),
      depth: scopes(),
      subtreeEnd: scopes(),
      nodesIn: scopes(),
      owner: scopes(),
      entityOf: tree.entityOf.map(moved),
      labelRow: scopes(),
      labelStart: scopes(),
      labelEnd: scopes(),
      nodeLabelStart: tree.nodeLabelStart,
      stacks: new Map(groups.map(({ label, last }, group): [number, Stack] => [stackOf[group]!, { label, last }])),
      unstacked: new Map(this.loose.flatMap(({ path, blocks }) => blocks.map((block): [number, string] => [scopeOf[block]!, path]))),
    };
  }

  private copyScope(out: ScopeTree, item: number, scope: number): void {
    const { tree } = this;
    const from = item < 0 ? this.groups[~item]!.blocks[0]! : item;
    out.owner[scope] = item < 0 ? -1 : tree.owner[item]!;
    out.labelRow[scope] = tree.labelRow[from]!;
    out.labelStart[scope] = tree.labelStart[from]!;
    out.labelEnd[scope] = tree.labelEnd[from]!;
  }
}
