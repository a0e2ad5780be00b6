/**
 * Builds the scope tree. It is shorter than the names: a scope with only one node and its constants and reads dissolves into its parent,
 * a chain of scopes with one child merges into one (`a/b/c`), and the body of a function represents the node that calls it.
 */

import { type DictColumn, TextColumn } from '../../lib/arrays/columns';
import { callerRows, type GraphData } from '../wire/graph';
import { isAuxiliary } from './op_kinds';
import { collectScopes, type RawScopes } from './raw_scopes';
import { type ScopeTree, scopePath } from './tree';
import { TreeWriter } from './tree_writer';

/** A scope with one other node dissolves into its parent if it has at most this many auxiliary nodes. */
const DISSOLVE_AUXILIARY = 4;
/** The same without another node. */
const DISSOLVE_ONLY_AUXILIARY = 3;
const SHORT_TOP_LEVEL = 30;

interface TreeInput {
  readonly paths: TextColumn;
  readonly opTypes: DictColumn;
  /** Rows of the nodes that call a function with a drawn body. */
  readonly callers: ReadonlySet<number>;
}

export function buildTree({ paths, opTypes, callers }: TreeInput): ScopeTree {
  const { scopes, scopeOf, ownScope } = collectScopes(paths);
  const owner = new Int32Array(scopes.count).fill(-1);
  moveNodesIntoOwnScopes(callers, ownScope, scopeOf, owner);
  const counts = countChildren(scopes, scopeOf, opTypes, owner);
  const dissolved = dissolve(scopes, counts, owner);
  const start = mergeChains(scopes, counts, dissolved, owner);
  return new TreeWriter({ paths, scopes, scopeOf, owner, dissolved, start }).write();
}

/** A node and a scope may share a path: a calling node becomes the scope's owner, any other node moves into the scope. */
function moveNodesIntoOwnScopes(callers: ReadonlySet<number>, ownScope: Int32Array, scopeOf: Int32Array, owner: Int32Array): void {
  for (let row = 0; row < ownScope.length; row++) {
    const own = ownScope[row]!;
    if (own <= 0) continue;
    if (callers.has(row)) owner[own] = row;
    else scopeOf[row] = own;
  }
}

interface ChildCounts {
  readonly nodes: Int32Array;
  readonly auxiliary: Int32Array;
  /** Of the auxiliary nodes. */
  readonly constants: Int32Array;
  readonly scopes: Int32Array;
}

function countChildren(scopes: RawScopes, scopeOf: Int32Array, opTypes: DictColumn, owner: Int32Array): ChildCounts {
  const counts = {
    nodes: new Int32Array(scopes.count),
    auxiliary: new Int32Array(scopes.count),
    constants: new Int32Array(scopes.count),
    scopes: new Int32Array(scopes.count),
  };
  const auxiliaryCode = opTypes.values.map(isAuxiliary);
  const constant = opTypes.values.indexOf('Const');
  const owners = new Set(owner);
  for (let row = 0; row < scopeOf.length; row++) {
    if (owners.has(row)) continue;
    const scope = scopeOf[row]!;
    counts.nodes[scope]!++;
    if (auxiliaryCode[opTypes.codes[row]!]) counts.auxiliary[scope]!++;
    if (opTypes.codes[row] === constant) counts.constants[scope]!++;
  }
  for (let scope = 1; scope < scopes.count; scope++) counts.scopes[scopes.parent[scope]!]!++;
  return counts;
}

/** Marks the scopes that dissolve, innermost first (children have higher numbers than their parents). */
function dissolve(scopes: RawScopes, counts: ChildCounts, owner: Int32Array): Uint8Array {
  const dissolved = new Uint8Array(scopes.count);
  const crowded = counts.nodes[0]! + counts.scopes[0]! > SHORT_TOP_LEVEL;
  for (let scope = scopes.count - 1; scope > 0; scope--) {
    if (owner[scope]! >= 0 || counts.scopes[scope]! > 0) continue;
    const main = counts.nodes[scope]! - counts.auxiliary[scope]!;
    const few = counts.auxiliary[scope]! <= (main === 1 ? DISSOLVE_AUXILIARY : DISSOLVE_ONLY_AUXILIARY);
    // A long top level does not get longer: its variable readers stay in their scope.
    const clutter = crowded && scopes.parent[scope] === 0 && (main === 0 || counts.constants[scope] !== counts.auxiliary[scope]);
    if (counts.nodes[scope] !== 1 && (main > 1 || !few || clutter)) continue;
    dissolved[scope] = 1;
    const parent = scopes.parent[scope]!;
    counts.scopes[parent]!--;
    counts.nodes[parent]! += counts.nodes[scope]!;
    counts.auxiliary[parent]! += counts.auxiliary[scope]!;
    counts.constants[parent]! += counts.constants[scope]!;
  }
  return dissolved;
}

/** Merges each scope with a scope as its only child into that child; returns where each scope's label begins. */
function mergeChains(scopes: RawScopes, counts: ChildCounts, dissolved: Uint8Array, owner: Int32Array): Int32Array {
  const start = Int32Array.from(scopes.start);
  for (let scope = 1; scope < scopes.count; scope++) {
    const parent = scopes.parent[scope]!;
    const alone = parent > 0 && counts.nodes[parent] === 0 && counts.scopes[parent] === 1;
    if (dissolved[scope] || !alone || (owner[scope]! >= 0 && owner[parent]! >= 0)) continue;
    if (owner[scope]! < 0) owner[scope] = owner[parent]!;
    owner[parent] = -1;
    start[scope] = start[parent]!;
    scopes.parent[scope] = scopes.parent[parent]!;
    dissolved[parent] = 1;
  }
  return start;
}

/** The scopes of a graph, for lists that need no drawing. */
export interface ScopeList {
  /** As in the drawing, with grouped blocks separate. */
  readonly paths: TextColumn;
  /** Number of nodes in each. */
  readonly nodes: Int32Array;
}

export function scopeList(graph: GraphData): ScopeList {
  const tree = buildTree({ paths: graph.paths, opTypes: graph.opTypes, callers: new Set(callerRows(graph)) });
  const paths = Array.from({ length: tree.scopeCount - 1 }, (_, i) => scopePath(tree, graph.paths, i + 1));
  return { paths: TextColumn.of(paths), nodes: tree.nodesIn.slice(1) };
}
