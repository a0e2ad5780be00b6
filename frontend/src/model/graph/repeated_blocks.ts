/**
 * Repeated blocks: siblings with equal content whose names differ only in numbers (`block_0` … `block_23`) become one group, a scope that
 * contains them. Equal content: the same number of nodes per op type and number of data inputs, and scopes of equal names (without
 * numbers) and equal content. Edges, shapes and dtypes are not compared.
 */

import type { DictColumn, TextColumn } from '../../lib/arrays/columns';
import type { EdgeColumns } from '../wire/graph';
import { buildMetaEdges, type MetaEdges } from './meta_edges';
import { type BlockGroup, blockGroupPath, enclosingScopes, ownLabel, type Paths, type ScopeTree, scopePath } from './tree';
import { sumSubtrees } from './tree_writer';

/** Fewer blocks are distinguished at a glance. */
const FEWEST_BLOCKS = 3;
/** Blocks with fewer nodes are read as quickly as counted. */
const FEWEST_NODES = 8;

interface GroupingInput {
  readonly paths: TextColumn;
  readonly opTypes: DictColumn;
  readonly edges: EdgeColumns;
  /** Paths of ungrouped blocks; `*`: all. */
  readonly ungrouped: readonly string[];
}

/** Scopes of a tree that form a group, in tree order. */
interface RepeatedBlocks {
  readonly path: string;
  readonly label: string;
  readonly last: string;
  readonly blocks: readonly number[];
}

/** The tree with its repeated blocks grouped, and its meta edges. */
export function groupRepeatedBlocks(tree: ScopeTree, input: GroupingInput): { tree: ScopeTree; meta: MetaEdges } {
  const found = findBlocks(tree, input);
  const wanted = (group: RepeatedBlocks): boolean => !input.ungrouped.includes('*') && !input.ungrouped.includes(group.path);
  const loose = found.filter((group) => !wanted(group));
  const made = grouped(
    tree,
    found.filter((group) => wanted(group)),
    loose,
    input.edges,
  );
  const woven = new Set([...made.tree.blockGroups.keys()].filter((scope) => isWoven(made.tree, made.meta, scope)));
  if (woven.size === 0) return made;
  const paths = new Set([...woven].map((scope) => scopePath(made.tree, input.paths, scope)));
  const kept = found.filter((group) => wanted(group) && !paths.has(group.path));
  return grouped(tree, kept, loose, input.edges);
}

function grouped(
  tree: ScopeTree,
  groups: readonly RepeatedBlocks[],
  loose: readonly RepeatedBlocks[],
  edges: EdgeColumns,
): { tree: ScopeTree; meta: MetaEdges } {
  const made = groups.length + loose.length > 0 ? insertBlockGroups(tree, groups, loose) : tree;
  return { tree: made, meta: buildMetaEdges(made, edges) };
}

/** Whether data leaves a group for a sibling and returns: then the nodes between the blocks matter. */
function isWoven(tree: ScopeTree, meta: MetaEdges, scope: number): boolean {
  const self = tree.nodeCount + scope;
  const around = tree.parent[self]!;
  const next = new Map<number, number[]>();
  for (let m = meta.start[around]!; m < meta.start[around + 1]!; m++) {
    if (meta.data[m] === 0) continue;
    const targets = next.get(meta.source[m]!);
    if (targets) targets.push(meta.target[m]!);
    else next.set(meta.source[m]!, [meta.target[m]!]);
  }
  const seen = new Set<number>();
  const waiting = [...(next.get(self) ?? [])];
  for (let entity = waiting.pop(); entity !== undefined; entity = waiting.pop()) {
    if (entity === self) return true;
    if (seen.has(entity)) continue;
    seen.add(entity);
    waiting.push(...(next.get(entity) ?? []));
  }
  return false;
}

/** All groups of repeated blocks, outermost first. */
function findBlocks(tree: ScopeTree, { paths, opTypes, edges }: GroupingInput): RepeatedBlocks[] {
  const kinds = kindsOfScopes(tree, paths, opTypes, edges);
  const groups: RepeatedBlocks[] = [];
  for (let scope = 0; scope < tree.scopeCount; scope++) {
    if (!mayRepeat(tree, scope)) continue;
    const alike = new Map<number, number[]>();
    for (let i = tree.childStart[scope]!; i < tree.childStart[scope + 1]!; i++) {
      const child = tree.children[i]! - tree.nodeCount;
      if (child < 0 || tree.nodesIn[child]! < FEWEST_NODES) continue;
      const same = alike.get(kinds[child]!);
      if (same) same.push(child);
      else alike.set(kinds[child]!, [child]);
    }
    for (const blocks of alike.values()) if (blocks.length >= FEWEST_BLOCKS) groups.push(groupOf(tree, paths, blocks));
  }
  return groups;
}

/** Whether enough scopes of enough nodes are in a scope: of 50,000 scopes few, and only those are worth a map. */
function mayRepeat(tree: ScopeTree, scope: number): boolean {
  let candidates = 0;
  for (let i = tree.childStart[scope]!; i < tree.childStart[scope + 1]! && candidates < FEWEST_BLOCKS; i++) {
    const child = tree.children[i]! - tree.nodeCount;
    if (child >= 0 && tree.nodesIn[child]! >= FEWEST_NODES) candidates++;
  }
  return candidates >= FEWEST_BLOCKS;
}

function groupOf(tree: ScopeTree, paths: TextColumn, blocks: readonly number[]): RepeatedBlocks {
  const labels = blocks.map((block) => ownLabel(tree, paths, block));
  const last = labels[labels.length - 1]!;
  return { path: blockGroupPath(scopePath(tree, paths, blocks[0]!), last), label: commonLabel(labels), last, blocks };
}

/** The common part of labels: `block` of `block_0`, `block_1`; `conv_a` of `conv1_a`, `conv2_a`; `dense` of `dense`, `dense_1`. */
export function commonLabel(labels: readonly string[]): string {
  const parts = labels.map((label) => label.split(/(_?\d+)/));
  const kept = parts[0]!.filter((part, i) => i % 2 === 0 || parts.every((other) => other[i] === part));
  return kept.join('') || '#';
}

/** A number per scope, equal for scopes of the same kind (with a collision chance of one in four billion). */
function kindsOfScopes(tree: ScopeTree, paths: TextColumn, opTypes: DictColumn, edges: EdgeColumns): Int32Array {
  const ofNode = kindsOfNodes(tree.nodeCount, opTypes, edges);
  const kinds = new Int32Array(tree.scopeCount);
  for (let scope = tree.scopeCount - 1; scope > 0; scope--) {
    // A sum, because the order of a block's nodes in the dump does not matter.
    let sum = tree.owner[scope]! >= 0 ? ofNode[tree.owner[scope]!]! : 0;
    for (let i = tree.childStart[scope]!; i < tree.childStart[scope + 1]!; i++) {
      const child = tree.children[i]!;
      sum += child < tree.nodeCount ? ofNode[child]! : kinds[child - tree.nodeCount]!;
    }
    kinds[scope] = mix(sum | 0, hashName(ownLabel(tree, paths, scope)));
  }
  return kinds;
}

function kindsOfNodes(nodeCount: number, opTypes: DictColumn, edges: EdgeColumns): Int32Array {
  const inputs = new Int32Array(nodeCount);
  for (let edge = 0; edge < edges.target.length; edge++) if (!edges.control[edge]) inputs[edges.target[edge]!]!++;
  for (let row = 0; row < nodeCount; row++) inputs[row] = mix(opTypes.codes[row]! + 1, inputs[row]!);
  return inputs;
}

const DIGIT_0 = 48;
const DIGIT_9 = 57;
const UNDERSCORE = 95;

/** FNV-1a over a name without its digits and underscores. */
function hashName(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if ((code >= DIGIT_0 && code <= DIGIT_9) || code === UNDERSCORE) continue;
    hash = Math.imul(hash ^ code, 0x01000193);
  }
  return hash;
}

function mix(a: number, b: number): number {
  let hash = Math.imul(a ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(b + 0x165667b1, 0xc2b2ae35);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return hash ^ (hash >>> 13);
}

// Groups repeated blocks: the same tree with one more scope per group, renumbered depth first.

/** `groups` become scopes; the blocks of `loose` stay where they are, and the tree notes their possible group. */
function insertBlockGroups(tree: ScopeTree, groups: readonly RepeatedBlocks[], loose: readonly RepeatedBlocks[]): ScopeTree {
  return new BlockGroupWriter(tree, groups, loose).write();
}

class BlockGroupWriter {
  /** Group of each scope of the old tree, or -1. */
  private readonly groupOf: Int32Array;
  /** 1 for scopes of the old tree that contain blocks of a group. */
  private readonly holdsBlocks: Uint8Array;
  /** Scopes of the new tree: a scope of the old one, or `~group`. */
  private readonly order: Int32Array;
  private readonly scopeOf: Int32Array;
  private readonly newScopeOf: Int32Array;

  constructor(
    private readonly tree: ScopeTree,
    private readonly groups: readonly RepeatedBlocks[],
    private readonly loose: readonly RepeatedBlocks[],
  ) {
    this.groupOf = new Int32Array(tree.scopeCount).fill(-1);
    this.holdsBlocks = new Uint8Array(tree.scopeCount);
    groups.forEach(({ blocks }, group) => {
      this.holdsBlocks[tree.parent[tree.nodeCount + blocks[0]!]!] = 1;
      for (const block of blocks) this.groupOf[block] = group;
    });
    this.order = new Int32Array(tree.scopeCount + groups.length);
    this.scopeOf = new Int32Array(tree.scopeCount);
    this.newScopeOf = new Int32Array(groups.length);
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
      if (item < 0) this.newScopeOf[~item] = count;
      else this.scopeOf[item] = count;
      if (item >= 0 && !this.holdsBlocks[item]) {
        for (let i = tree.childStart[item + 1]! - 1; i >= tree.childStart[item]!; i--) {
          if (tree.children[i]! >= tree.nodeCount) waiting.push(tree.children[i]! - tree.nodeCount);
        }
      } else waiting.push(...this.scopesIn(item).reverse());
    }
  }

  /** Children of a scope without blocks: nearly all scopes. Returns the number of children so far. */
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
    const { tree, scopeOf, newScopeOf } = this;
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
      const child = entity < 0 ? newScopeOf[~entity]! : scopeOf[entity - tree.nodeCount]!;
      add(tree.nodeCount + child);
      out.depth[child] = out.depth[scope]! + 1;
    }
    return at;
  }

  /** Scopes in a group, or in a scope that contains blocks: of the old tree, or `~group`. */
  private scopesIn(item: number): number[] {
    const { nodeCount } = this.tree;
    return this.childrenOf(item).flatMap((entity) => (entity < 0 ? [entity] : entity >= nodeCount ? [entity - nodeCount] : []));
  }

  /** Entities of the old tree, and `~group` in place of the first block of a group. */
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
    const { tree, order, scopeOf, newScopeOf, groups } = this;
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
      blockGroups: new Map(groups.map(({ label, last }, group): [number, BlockGroup] => [newScopeOf[group]!, { label, last }])),
      ungrouped: new Map(this.loose.flatMap(({ path, blocks }) => blocks.map((block): [number, string] => [scopeOf[block]!, path]))),
    };
  }

  /** Nodes are shown themselves, or by their owned scope. */
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

// Ungrouped blocks as in the address: paths of their groups; `*` for all.

export const NONE_GROUPED: readonly string[] = ['*'];

/** The group that an entity is or is in, or would be in if it were not ungrouped. Null without repetition. */
interface BlockGroupPlace {
  readonly path: string;
  readonly grouped: boolean;
}

export function blockGroupPlace(tree: ScopeTree, paths: Paths, entity: number): BlockGroupPlace | null {
  if (entity < 0) return null;
  const own = entity >= tree.nodeCount ? [entity - tree.nodeCount] : [];
  for (const scope of [...own, ...enclosingScopes(tree, entity)]) {
    if (tree.blockGroups.has(scope)) return { path: scopePath(tree, paths, scope), grouped: true };
    const path = tree.ungrouped.get(scope);
    if (path !== undefined) return { path, grouped: false };
  }
  return null;
}

/** The choice with one group ungrouped or regrouped. */
export function withToggled(tree: ScopeTree, ungrouped: readonly string[], { path, grouped }: BlockGroupPlace): readonly string[] {
  if (grouped) return [...ungrouped, path];
  const before = ungrouped.includes('*') ? [...new Set(tree.ungrouped.values())] : ungrouped;
  return before.filter((other) => other !== path);
}

/** Whether anything repeats in the graph. */
export function hasBlocks(tree: ScopeTree): boolean {
  return tree.blockGroups.size + tree.ungrouped.size > 0;
}
