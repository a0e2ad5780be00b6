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
  /** Rows of visible nodes that are large enough for a trend. */
  trends(graph: GraphData, rows: readonly number[]): void;
  expanded(scopes: readonly string[]): void;
  /** Called before all expanded scopes change, to add a history entry. */
  leave(): void;
  /** The repeated blocks that are ungrouped from now on. */
  ungroup(paths: readonly string[]): void;
  /** Starts a trace at a node's name or a scope's path; null clears it. */
  trace(kind: TraceKind | null, name: string): void;
  /** Shows another kind of trace, e.g. all paths instead of the shortest. */
  retrace(trace: Trace): void;
}
