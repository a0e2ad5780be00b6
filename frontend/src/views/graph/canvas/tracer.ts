/** The trace on a graph: its nodes in order, their marks, and the current one. */

import { signal } from '@preact/signals';
import { type Marks, markNodes } from '../../../model/graph/neighbours';
import { followTrace, type Trace, type TracedNodes } from '../../../model/graph/trace';
import type { Drawing } from '../../../render/frame';

export class Tracer {
  readonly found = signal<TracedNodes | null>(null);
  readonly current = signal(-1);
  marks: Marks | null = null;
  /** The trace that was already brought into view: a new layout does not move the camera. */
  brought: Trace | null = null;

  follow(trace: Trace | null, drawing: Drawing | null): void {
    this.current.value = -1;
    this.found.value = trace && drawing && followTrace(drawing.graph, drawing.tree, trace);
    this.marks = this.found.value && drawing && markNodes(drawing.tree, this.marked());
  }

  /** Rows to go through. */
  get rows(): Int32Array {
    return this.found.value?.rows ?? NO_ROWS;
  }

  /** The start of a trace is kept in view with it. */
  private marked(): Iterable<number> {
    return this.path.length > 0 ? this.path : [...(this.found.value?.origin ?? []), ...this.rows];
  }

  /** Consecutive rows, if the trace is a path. */
  get path(): Int32Array {
    return this.found.value?.trace.kind === 'path' ? this.rows : NO_ROWS;
  }

  /** Row of the next (1) or previous (-1) node, cyclic; -1 if there are none. */
  step(direction: 1 | -1): number {
    const count = this.rows.length;
    if (count === 0) return -1;
    const before = this.current.value;
    return this.choose(before < 0 ? (direction > 0 ? 0 : count - 1) : (before + direction + count) % count);
  }

  choose(index: number): number {
    this.current.value = index;
    return this.rows[index] ?? -1;
  }
}

const NO_ROWS = new Int32Array(0);
