/** Last pass of building the scope tree: numbers the remaining scopes depth first and writes the arrays. */

import type { TextColumn } from '../../lib/arrays/columns';
import type { RawScopes } from './raw_scopes';
import type { ScopeTree } from './tree';

interface Plan {
  readonly paths: TextColumn;
  readonly scopes: RawScopes;
  readonly scopeOf: Int32Array;
  readonly owner: Int32Array;
  readonly dissolved: Uint8Array;
  /** Where each raw scope's label begins in its path. */
  readonly start: Int32Array;
}

export class TreeWriter {
  private readonly rows: number;
  /** Raw entities (row, or rows + raw scope) as linked lists of children. */
  private readonly first: Int32Array;
  private readonly last: Int32Array;
  private readonly next: Int32Array;
  private readonly attached: Uint8Array;
  private readonly ownerRows: Set<number>;

  constructor(private readonly plan: Plan) {
    this.rows = plan.scopeOf.length;
    const raw = plan.scopes.count;
    this.first = new Int32Array(raw).fill(-1);
    this.last = new Int32Array(raw).fill(-1);
    this.next = new Int32Array(this.rows + raw).fill(-1);
    this.attached = new Uint8Array(raw);
    this.ownerRows = new Set(plan.owner);
  }

  write(): ScopeTree {
    this.attachAll();
    const order = this.depthFirst();
    const tree = this.emptyTree(order.length);
    const newScope = new Int32Array(this.plan.scopes.count).fill(-1);
    order.forEach((raw, scope) => {
      newScope[raw] = scope;
    });
    let filled = 0;
    order.forEach((raw, scope) => {
      this.writeScope(tree, raw, scope);
      tree.childStart[scope] = filled;
      for (let entity = this.first[raw]!; entity >= 0; entity = this.next[entity]!) {
        const child = entity < this.rows ? entity : this.rows + newScope[entity - this.rows]!;
        tree.children[filled++] = child;
        tree.parent[child] = scope;
        if (child < this.rows) tree.nodeLabelStart[child] = this.nodeLabelStart(child, raw);
        else tree.depth[child - this.rows] = tree.depth[scope]! + 1;
      }
    });
    tree.childStart[order.length] = filled;
    sumSubtrees(tree);
    return tree;
  }

  private attachAll(): void {
    this.attached[0] = 1;
    for (let row = 0; row < this.rows; row++) {
      const scope = this.alive(this.plan.scopeOf[row]!);
      this.attachScope(scope);
      if (!this.ownerRows.has(row)) this.append(scope, row);
    }
  }

  private attachScope(scope: number): void {
    if (this.attached[scope]) return;
    this.attached[scope] = 1;
    const parent = this.alive(this.plan.scopes.parent[scope]!);
    this.attachScope(parent);
    this.append(parent, this.rows + scope);
  }

  private append(scope: number, entity: number): void {
    const last = this.last[scope]!;
    if (last < 0) this.first[scope] = entity;
    else this.next[last] = entity;
    this.last[scope] = entity;
  }

  private alive(scope: number): number {
    let found = scope;
    while (this.plan.dissolved[found]) found = this.plan.scopes.parent[found]!;
    return found;
  }

  private depthFirst(): number[] {
    const order: number[] = [];
    const stack = [0];
    for (let raw = stack.pop(); raw !== undefined; raw = stack.pop()) {
      order.push(raw);
      const scopes: number[] = [];
      for (let entity = this.first[raw]!; entity >= 0; entity = this.next[entity]!) {
        if (entity >= this.rows) scopes.push(entity - this.rows);
      }
      while (scopes.length) stack.push(scopes.pop()!);
    }
    return order;
  }

  private emptyTree(scopeCount: number): ScopeTree {
    const entities = this.rows + scopeCount;
    return {
      nodeCount: this.rows,
      scopeCount,
      parent: new Int32Array(entities).fill(-1),
      childStart: new Int32Array(scopeCount + 1),
      children: new Int32Array(entities - 1 - (this.ownerRows.size - Number(this.ownerRows.has(-1)))),
      depth: new Int32Array(scopeCount),
      subtreeEnd: new Int32Array(scopeCount),
      nodesIn: new Int32Array(scopeCount),
      owner: new Int32Array(scopeCount).fill(-1),
      entityOf: new Int32Array(this.rows).map((_, row) => row),
      labelRow: new Int32Array(scopeCount),
      labelStart: new Int32Array(scopeCount),
      labelEnd: new Int32Array(scopeCount),
      nodeLabelStart: new Int32Array(this.rows),
      blockGroups: new Map(),
      ungrouped: new Map(),
    };
  }

  private writeScope(tree: ScopeTree, raw: number, scope: number): void {
    const { scopes, owner, start } = this.plan;
    tree.labelRow[scope] = scopes.row[raw]!;
    tree.labelStart[scope] = start[raw]!;
    tree.labelEnd[scope] = scopes.end[raw]!;
    const row = owner[raw]!;
    tree.owner[scope] = row;
    if (row >= 0) tree.entityOf[row] = this.rows + scope;
  }

  private nodeLabelStart(row: number, raw: number): number {
    const end = this.plan.scopes.end[raw]!;
    // A node with the path of its scope gets the scope's label.
    if (this.plan.paths.lengthAt(row) <= end) return this.plan.scopes.start[raw]!;
    return raw === 0 ? 0 : end + 1;
  }
}

/** Fills `nodesIn` and `subtreeEnd` from the children. */
export function sumSubtrees(tree: ScopeTree): void {
  const { nodeCount, scopeCount, childStart, children, nodesIn, subtreeEnd, owner } = tree;
  for (let scope = scopeCount - 1; scope >= 0; scope--) {
    let nodes = owner[scope]! >= 0 ? 1 : 0;
    let end = scope + 1;
    for (let i = childStart[scope]!; i < childStart[scope + 1]!; i++) {
      const child = children[i]! - nodeCount;
      nodes += child < 0 ? 1 : nodesIn[child]!;
      if (child >= 0) end = Math.max(end, subtreeEnd[child]!);
    }
    nodesIn[scope] = nodes;
    subtreeEnd[scope] = end;
  }
}
