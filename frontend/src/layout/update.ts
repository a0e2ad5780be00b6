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
    graph.entities.forEach((child, i) => {
      this.put([layout.left[i]! + shift, layout.top[i]!, this.sizes.width[child]!, this.sizes.height[child]!, layout.flags[i]!]);
    });
    for (const route of layout.routes) {
      this.put([route.length / 2]);
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
    if (this.used + numbers.length > this.numbers.length) {
      const larger = new Float32Array(Math.max(2 * this.numbers.length, this.used + numbers.length));
      larger.set(this.numbers.subarray(0, this.used));
      this.numbers = larger;
    }
    for (let i = 0; i < numbers.length; i++) this.numbers[this.used++] = numbers[i]!;
  }
}
