/**
 * Cache of layouts by their input. Networks repeat: nine in ten of the 52,000 scopes of a large transformer's train step equal another
 * one, and a lookup is much faster than a layout. Equal scopes also look equal.
 */

import { NumberMemo } from './number_memo';
import type { ScopeGraph } from './scope/scope_graph';
import type { ScopeContext, ScopeLayout } from './scope/scope_layout';

/** Larger scopes are rarely repeated, and cost memory. */
const MOST_NUMBERS = 4000;
const MOST_KEPT = 20_000;
const CHILD = 7;
const EDGE = 4;

export class LayoutMemo {
  private readonly numbers = new Float32Array(MOST_NUMBERS);
  private readonly memo = new NumberMemo<ScopeLayout>(this.numbers, MOST_KEPT);

  /** The layout of a scope, from the cache or by `make`. */
  get(graph: ScopeGraph, context: ScopeContext, make: () => ScopeLayout): ScopeLayout {
    const length = 1 + CHILD * graph.entities.length + EDGE * graph.source.length;
    // The whole graph has another frame.
    if (length > MOST_NUMBERS || graph.scope === 0) return make();
    this.numbers[0] = graph.entities.length;
    this.writeChildren(graph.entities, context);
    this.writeEdges(graph, 1 + CHILD * graph.entities.length);
    return this.memo.get(length, make);
  }

  private writeChildren(entities: Int32Array, { sizes, isAuxiliary, isScope, isOpen, bridges }: ScopeContext): void {
    let at = 1;
    for (let i = 0; i < entities.length; i++) {
      const entity = entities[i]!;
      this.numbers[at++] = sizes.width[entity]!;
      this.numbers[at++] = sizes.height[entity]!;
      this.numbers[at++] = sizes.restWidth[entity]!;
      this.numbers[at++] = sizes.restHeight[entity]!;
      this.numbers[at++] = sizes.inX[entity]!;
      this.numbers[at++] = sizes.outX[entity]!;
      const kind = (isAuxiliary(entity) ? 1 : 0) + (isScope(entity) ? 2 : 0) + (isOpen(entity) ? 4 : 0);
      this.numbers[at++] = kind + (bridges.fromOutside[entity]! > 0 ? 8 : 0) + (bridges.toOutside[entity]! > 0 ? 16 : 0);
    }
  }

  private writeEdges({ source, target, weight, shapes, control }: ScopeGraph, start: number): void {
    let at = start;
    for (let e = 0; e < source.length; e++) {
      this.numbers[at++] = source[e]!;
      this.numbers[at++] = target[e]!;
      this.numbers[at++] = weight[e]!;
      this.numbers[at++] = shapes[e]! + 2 * control[e]!;
    }
  }
}
