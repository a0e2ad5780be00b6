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
  /** 1 for scopes of the old tree that hold blocks of a group. */
  private readonly holdsBlocks: Uint8Array;
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
    this.holdsBlocks = new Uint8Array(tree.scopeCount);
    groups.forEach(({ blocks }, group) => {
      this.holdsBlocks[tree.parent[tree.nodeCount + blocks[0]!]!] = 1;
      for (const block of blocks) this.groupOf[block] = group;
    });
    this.order = new Int32Array(tree.scopeCount + groups.length);
    this.scopeOf = new Int32Array(tree.scopeCount);
    this.stackOf = new Int32Array(groups.length);
    this.number();
  }

  write(): ScopeTree {
    const { order } = this;
    const out = this.emptyTree();
    let filled = 0;
    for (let scope = 0; scope < order.length; scope++) {
      const item = order[scope]!;
      this.copyScope(out, item, scope);
      out.childStart[scope] = filled;
      filled =
        item >= 0 && !this.holdsBlocks[item] ? this.copyChildren(out, item, scope, filled) : this.addChildren(out, item, scope, filled);
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
      if (item >= 0 && !this.holdsBlocks[item]) {
        for (let i = tree.childStart[item + 1]! - 1; i >= tree.childStart[item]!; i--) {
          if (tree.children[i]! >= tree.nodeCount) waiting.push(tree.children[i]! - tree.nodeCount);
        }
      } else waiting.push(...this.scopesIn(item).reverse());
    }
  }

  /** Children of a scope that holds no blocks of its own: nearly all of them. Returns how many there are so far. */
  private copyChildren(out: ScopeTree, item: number, scope: number, filled: number): number {
    const { tree, scopeOf } = this;
    let at = filled;
    for (let i = tree.childStart[item]!; i < tree.childStart[item + 1]!; i++) {
      const entity = tree.children[i]!;
      const child = entity < tree.nodeCount ? entity : tree.nodeCount + scopeOf[entity - tree.nodeCount]!;
      out.children[at++] = child;
      out.parent[child] = scope;
      if (child >= tree.nodeCount) out.depth[child - tree.nodeCount] = out.depth[scope]! + 1;
    }
    return at;
  }

  private addChildren(out: ScopeTree, item: number, scope: number, filled: number): number {
    const { tree, scopeOf, stackOf } = this;
    let at = filled;
    const add = (child: number): void => {
      out.children[at++] = child;
      out.parent[child] = scope;
    };
    for (const entity of this.childrenOf(item)) {
      if (entity >= 0 && entity < tree.nodeCount) {
        add(entity);
        continue;
      }
      const child = entity < 0 ? stackOf[~entity]! : scopeOf[entity - tree.nodeCount]!;
      add(tree.nodeCount + child);
      out.depth[child] = out.depth[scope]! + 1;
    }
    return at;
  }

  /** Scopes in a stack, or in a scope that holds blocks: of the old tree, or `~group`. */
  private scopesIn(item: number): number[] {
    const { nodeCount } = this.tree;
    return this.childrenOf(item).flatMap((entity) => (entity < 0 ? [entity] : entity >= nodeCount ? [entity - nodeCount] : []));
  }

  /** Entities of the old tree, and `~group` where the first block of a group was. */
  private childrenOf(item: number): number[] {
    const { tree } = this;
    if (item < 0) return this.groups[~item]!.blocks.map((block) => tree.nodeCount + block);
    const kept: number[] = [];
    for (let i = tree.childStart[item]!; i < tree.childStart[item + 1]!; i++) {
      const child = tree.children[i]!;
      const group = child < tree.nodeCount ? -1 : this.groupOf[child - tree.nodeCount]!;
      if (group < 0) kept.push(child);
      else if (this.groups[group]!.blocks[0] === child - tree.nodeCount) kept.push(~group);
    }
    return kept;
  }

  private emptyTree(): ScopeTree {
    const { tree, order, scopeOf, stackOf, groups } = this;
    const scopes = (): Int32Array => new Int32Array(order.length);
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
      entityOf: this.movedOwners(),
      labelRow: scopes(),
      labelStart: scopes(),
      labelEnd: scopes(),
      nodeLabelStart: tree.nodeLabelStart,
      stacks: new Map(groups.map(({ label, last }, group): [number, Stack] => [stackOf[group]!, { label, last }])),
      unstacked: new Map(this.loose.flatMap(({ path, blocks }) => blocks.map((block): [number, string] => [scopeOf[block]!, path]))),
    };
  }

  /** Nodes are shown by themselves, or by the scope they own. */
  private movedOwners(): Int32Array {
    const { tree, scopeOf } = this;
    const entityOf = tree.entityOf.slice();
    for (let scope = 1; scope < tree.scopeCount; scope++) {
      if (tree.owner[scope]! >= 0) entityOf[tree.owner[scope]!] = tree.nodeCount + scopeOf[scope]!;
    }
    return entityOf;
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
