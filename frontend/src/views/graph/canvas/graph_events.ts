/** Events and states of the graph pane, as its parts pass them on. */

import type { Trace, TraceKind } from '../../../model/graph/trace';
import type { GraphData } from '../../../model/wire/graph';

export type Status = { readonly kind: 'empty' | 'loading' | 'ready' } | { readonly kind: 'failed'; readonly message: string };

export interface Hover {
  readonly entity: number;
  /** Meta edge under the pointer, or -1. */
  readonly edge: number;
  readonly x: number;
  readonly y: number;
}

/** Position and subject of an open menu. */
export interface Menu {
  readonly entity: number;
  readonly x: number;
  readonly y: number;
}

export interface GraphEvents {
  /** See entity_names.ts. */
  select(name: string | null): void;
  hover(name: string | null): void;
  /** Bookmarks the selection; absent if bookmarks are unavailable. */
  readonly bookmark?: (() => void) | undefined;
  /** Which nodes, by their rows, are large enough in view for a line of how they moved. */
  trends(graph: GraphData, rows: readonly number[]): void;
  expanded(scopes: readonly string[]): void;
  /** Called before all expanded scopes change, to add a history entry. */
  leave(): void;
  /** Which repeated blocks are not grouped from now on. */
  ungroup(paths: readonly string[]): void;
  /** Starts a trace at a node's name or a scope's path; null clears it. */
  trace(kind: TraceKind | null, name: string): void;
  /** Shows another trace, as of all paths in place of the shortest. */
  retrace(trace: Trace): void;
}
