/**
 * The scope tree that a graph is drawn by. Entities are numbered: `row` for a node, `nodeCount + scope` for a scope;
 * scope 0 is the whole graph, and scopes are in depth-first order, so the scopes below `k` are `k + 1 … subtreeEnd[k] - 1`.
 */
export interface ScopeTree {
  readonly nodeCount: number;
  readonly scopeCount: number;
  /** Scope of an entity; -1 for the whole graph, and for a node represented by a scope (see `owner`). */
  readonly parent: Int32Array;
  /** Entities of scope `k`, in order of first appearance: `children[childStart[k] … childStart[k + 1]]`. */
  readonly childStart: Int32Array;
  readonly children: Int32Array;
  readonly depth: Int32Array;
  readonly subtreeEnd: Int32Array;
  /** Nodes below a scope, its owner included. */
  readonly nodesIn: Int32Array;
  /** The calling node whose body a scope is (the scope is drawn in its place), or -1. */
  readonly owner: Int32Array;
  /** The entity that shows a node: the node itself, or its owned scope. */
  readonly entityOf: Int32Array;
  /** A scope's path is the path of node `labelRow` up to `labelEnd`; its label begins at `labelStart`. */
  readonly labelRow: Int32Array;
  readonly labelStart: Int32Array;
  readonly labelEnd: Int32Array;
  /** Where a node's label begins in its path. */
  readonly nodeLabelStart: Int32Array;
  /** Scopes that contain only repeated blocks (repeated_blocks.ts); their label columns are those of the first block. */
  readonly blockGroups: ReadonlyMap<number, BlockGroup>;
  /** Repeated blocks that the user ungrouped: the scope of each, and the path of the group it would be in. */
  readonly ungrouped: ReadonlyMap<number, string>;
}

/** Repeated blocks, `block_0` to `block_23`, drawn as one. */
export interface BlockGroup {
  /** Common name of the blocks without numbers: `block`. */
  readonly label: string;
  /** Label of the last block. */
  readonly last: string;
}

/** Source of the labels. */
export interface Paths {
  at(row: number): string;
}

/** Of a group: the path of its first block, and where it ends: `model/block_0..block_23`. */
export function scopePath(tree: ScopeTree, paths: Paths, scope: number): string {
  if (scope === 0) return '';
  const path = paths.at(tree.labelRow[scope]!).slice(0, tree.labelEnd[scope]);
  const group = tree.blockGroups.get(scope);
  return group ? blockGroupPath(path, group.last) : path;
}

export function blockGroupPath(first: string, last: string): string {
  return `${first}..${last}`;
}

export function entityLabel(tree: ScopeTree, paths: Paths, entity: number): string {
  if (entity < tree.nodeCount) return paths.at(entity).slice(tree.nodeLabelStart[entity]);
  const scope = entity - tree.nodeCount;
  if (scope === 0) return '';
  const group = tree.blockGroups.get(scope);
  return group ? `${group.label} × ${blockGroupSize(tree, scope)}` : ownLabel(tree, paths, scope);
}

/** Number of blocks in a group. */
export function blockGroupSize(tree: ScopeTree, scope: number): number {
  return tree.childStart[scope + 1]! - tree.childStart[scope]!;
}

/** The blocks of a group: scopes. */
export function groupedBlocks(tree: ScopeTree, scope: number): number[] {
  return [...tree.children.subarray(tree.childStart[scope], tree.childStart[scope + 1])].map((entity) => entity - tree.nodeCount);
}

/** The label of a scope; of a group that of its first block. */
export function ownLabel(tree: ScopeTree, paths: Paths, scope: number): string {
  return paths.at(tree.labelRow[scope]!).slice(tree.labelStart[scope], tree.labelEnd[scope]);
}

/** The scopes around an entity, innermost first, without the whole graph. */
export function enclosingScopes(tree: ScopeTree, entity: number): number[] {
  const scopes: number[] = [];
  for (let scope = tree.parent[entity]!; scope > 0; scope = tree.parent[tree.nodeCount + scope]!) scopes.push(scope);
  return scopes;
}

/** The innermost scope with `path` or above it; merged chains match each of their links. 0 if none. */
export function findScope(tree: ScopeTree, paths: Paths, path: string): number {
  let found = 0;
  for (let at = 0; at < path.length; ) {
    const next = childScopeAt(tree, paths, found, path, at);
    if (next < 0) break;
    found = next;
    at = tree.labelEnd[next]! + 1;
  }
  return found;
}

function childScopeAt(tree: ScopeTree, paths: Paths, scope: number, path: string, at: number): number {
  for (let i = tree.childStart[scope]!; i < tree.childStart[scope + 1]!; i++) {
    const child = tree.children[i]! - tree.nodeCount;
    if (child < 0) continue;
    const label = ownLabel(tree, paths, child);
    const group = tree.blockGroups.get(child);
    if (group) {
      if (path.slice(at) === blockGroupPath(label, group.last)) return child;
      const block = childScopeAt(tree, paths, child, path, at);
      if (block >= 0) return block;
      continue;
    }
    const rest = path.slice(at, at + label.length + 1);
    if (rest === label || rest === `${label}/` || label.startsWith(`${path.slice(at)}/`)) return child;
  }
  return -1;
}

/** The innermost visible entity that contains `entity`, given the expanded scopes. */
export function shownEntity(tree: ScopeTree, open: Uint8Array, entity: number): number {
  let shown = entity;
  for (let scope = tree.parent[entity]!; scope >= 0; scope = tree.parent[tree.nodeCount + scope]!) {
    if (scope > 0 && !open[scope]) shown = tree.nodeCount + scope;
  }
  return shown;
}

/** Number of expanded scopes, and those without expanded scopes inside (the others follow from these). */
export function openScopes(tree: ScopeTree, open: Uint8Array): { innermost: number[]; count: number } {
  const innermost: number[] = [];
  let count = 0;
  const holdsOpen = new Uint8Array(tree.scopeCount);
  // Scopes are numbered depth first: in reverse, inner scopes come first.
  for (let scope = tree.scopeCount - 1; scope > 0; scope--) {
    if (!open[scope]) continue;
    count++;
    holdsOpen[tree.parent[tree.nodeCount + scope]!] = 1;
    if (!holdsOpen[scope]) innermost.push(scope);
  }
  return { innermost: innermost.reverse(), count };
}
