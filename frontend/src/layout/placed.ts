/** The layout in the page: boxes of all entities, relative to their scope, filled by updates of the worker. */

import type { ScopeTree } from '../model/graph/tree';
import { CHILD_NUMBERS, type LayoutUpdate, SCOPE_NUMBERS } from './messages';

export class PlacedGraph {
  readonly left: Float32Array;
  readonly top: Float32Array;
  readonly width: Float32Array;
  readonly height: Float32Array;
  /** See bridges.ts. */
  readonly flags: Uint8Array;
  readonly open: Uint8Array;
  /** 1 if a scope has been laid out. */
  readonly known: Uint8Array;
  /** Where edges enter at the top and leave at the bottom of an expanded scope, from its left side. */
  readonly plug: Float32Array;
  /** Shift of routes and blocks from the scope's left side. */
  readonly shift: Float32Array;
  /** For each scope its meta edges in order: number of points, then x, y, x, y, … */
  readonly routes: (Float32Array | undefined)[] = [];
  readonly blocks: (Float32Array | undefined)[] = [];

  constructor(readonly tree: ScopeTree) {
    const entities = tree.nodeCount + tree.scopeCount;
    this.left = new Float32Array(entities);
    this.top = new Float32Array(entities);
    this.width = new Float32Array(entities);
    this.height = new Float32Array(entities);
    this.flags = new Uint8Array(entities);
    this.open = new Uint8Array(tree.scopeCount);
    this.known = new Uint8Array(tree.scopeCount);
    this.plug = new Float32Array(tree.scopeCount);
    this.shift = new Float32Array(tree.scopeCount);
  }

  apply(update: LayoutUpdate): void {
    this.open.set(update.open);
    for (let i = 0; i < update.scopes.length; i++)
      this.read(update.scopes[i]!, update.numbers, update.offsets[i]!, update.offsets[i + 1] ?? update.numbers.length);
  }

  /** Top left corner of an entity in the frame of the whole graph. */
  origin(entity: number): { x: number; y: number } {
    const { tree } = this;
    let [x, y] = [this.left[entity]!, this.top[entity]!];
    for (let scope = tree.parent[entity]!; scope > 0; scope = tree.parent[tree.nodeCount + scope]!) {
      x += this.left[tree.nodeCount + scope]!;
      y += this.top[tree.nodeCount + scope]!;
    }
    return { x, y };
  }

  private read(scope: number, numbers: Float32Array, start: number, end: number): void {
    const { tree } = this;
    const entity = tree.nodeCount + scope;
    this.known[scope] = 1;
    this.width[entity] = numbers[start]!;
    this.height[entity] = numbers[start + 1]!;
    this.plug[scope] = numbers[start + 2]!;
    this.shift[scope] = numbers[start + 3]!;
    const blocks = numbers[start + 4]!;
    let at = start + SCOPE_NUMBERS;
    this.blocks[scope] = blocks ? numbers.subarray(at, at + blocks) : undefined;
    at += blocks;
    for (let i = tree.childStart[scope]!; i < tree.childStart[scope + 1]!; i++, at += CHILD_NUMBERS) {
      const child = tree.children[i]!;
      this.left[child] = numbers[at]!;
      this.top[child] = numbers[at + 1]!;
      this.width[child] = numbers[at + 2]!;
      this.height[child] = numbers[at + 3]!;
      this.flags[child] = numbers[at + 4]!;
    }
    this.routes[scope] = at < end ? numbers.subarray(at, end) : undefined;
  }
}
