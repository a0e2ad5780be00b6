/**
 * What a relayout changed, in one array of numbers (it crosses from the worker): a stretch a scope, see `UpdateWriter.add`.
 * All coordinates are relative to the scope's top left corner.
 */

import type { ScopeTree } from '../model/tree';
import type { BoxSizes } from './cells';
import type { ScopeGraph } from './scope_graph';
import type { ScopeLayout } from './scope_layout';

export interface LayoutUpdate {
  readonly scopes: Int32Array;
  /** Where each scope's stretch begins in `numbers`. */
  readonly offsets: Int32Array;
  readonly numbers: Float32Array;
  readonly open: Uint8Array;
}

/** Numbers before a stretch's blocks: width, height, plug, shift of the content, length of the blocks. */
export const SCOPE_NUMBERS = 5;
/** Numbers a child: left, top, width, height, flags. */
export const CHILD_NUMBERS = 5;

export class UpdateWriter {
  private readonly scopes: number[] = [];
  private readonly offsets: number[] = [];
  private numbers = new Float32Array(4096);
  private used = 0;

  constructor(
    private readonly tree: ScopeTree,
    private readonly sizes: BoxSizes,
  ) {}

  /** Five numbers of the scope, its blocks, five numbers a child, then for each meta edge the number of points and the points. */
  add(graph: ScopeGraph, layout: ScopeLayout): void {
    const entity = this.tree.nodeCount + graph.scope;
    const width = graph.scope === 0 ? layout.width : this.sizes.width[entity]!;
    const shift = (width - layout.width) / 2;
    this.scopes.push(graph.scope);
    this.offsets.push(this.used);
    this.put([width, layout.height, layout.plug + shift, shift, layout.blocks.length]);
    this.put(layout.blocks);
    this.reserve(CHILD_NUMBERS * graph.entities.length);
    for (let i = 0; i < graph.entities.length; i++) {
      const child = graph.entities[i]!;
      this.numbers[this.used++] = layout.left[i]! + shift;
      this.numbers[this.used++] = layout.top[i]!;
      this.numbers[this.used++] = this.sizes.width[child]!;
      this.numbers[this.used++] = this.sizes.height[child]!;
      this.numbers[this.used++] = layout.flags[i]!;
    }
    for (const route of layout.routes) {
      this.reserve(1);
      this.numbers[this.used++] = route.length / 2;
      this.put(route);
    }
  }

  finish(open: Uint8Array): LayoutUpdate {
    return {
      scopes: Int32Array.from(this.scopes),
      offsets: Int32Array.from(this.offsets),
      numbers: this.numbers.slice(0, this.used),
      open: open.slice(),
    };
  }

  private put(numbers: readonly number[]): void {
    this.reserve(numbers.length);
    for (let i = 0; i < numbers.length; i++) this.numbers[this.used++] = numbers[i]!;
  }

  private reserve(count: number): void {
    if (this.used + count <= this.numbers.length) return;
    const larger = new Float32Array(Math.max(2 * this.numbers.length, this.used + count));
    larger.set(this.numbers.subarray(0, this.used));
    this.numbers = larger;
  }
}
