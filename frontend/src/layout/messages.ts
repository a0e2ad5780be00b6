/** What page and layout worker say to each other. */

import type { MetaEdges } from '../model/graph/meta_edges';
import type { ScopeTree } from '../model/graph/tree';
import type { EdgeColumns, GraphData } from '../model/wire/graph';
import type { LayoutUpdate } from './update';

interface DictArrays {
  readonly codes: Int32Array;
  readonly values: readonly string[];
}

interface TextArrays {
  readonly offsets: Uint32Array;
  readonly bytes: Uint8Array;
}

export interface LoadRequest {
  readonly type: 'load';
  readonly paths: TextArrays;
  readonly shapes: DictArrays;
  readonly opTypes: DictArrays;
  readonly edges: EdgeColumns;
  readonly callers: readonly number[];
  /** Scope paths to open; null: the worker chooses. */
  readonly open: readonly string[] | null;
  /** Paths of stacks that are not wanted; `*`: none are. */
  readonly unstacked: readonly string[];
}

export interface OpenRequest {
  readonly type: 'open';
  readonly scopes: readonly number[] | 'all';
  readonly open: boolean;
}

/** Stops an opening in progress and undoes it. */
export interface CancelRequest {
  readonly type: 'cancel';
}

export type LayoutRequest = LoadRequest | OpenRequest | CancelRequest;

export interface LoadedReply {
  readonly type: 'loaded';
  readonly tree: ScopeTree;
  readonly meta: MetaEdges;
  readonly update: LayoutUpdate;
  /** The scope to look at first; 0 for the whole graph. */
  readonly focus: number;
}

export interface UpdateReply {
  readonly type: 'update';
  readonly update: LayoutUpdate;
}

export interface ProgressReply {
  readonly type: 'progress';
  readonly done: number;
  readonly total: number;
}

export interface FailedReply {
  readonly type: 'failed';
  readonly message: string;
}

export type LayoutReply = LoadedReply | UpdateReply | ProgressReply | FailedReply;

export function loadRequest(
  graph: GraphData,
  callers: readonly number[],
  open: readonly string[] | null,
  unstacked: readonly string[] = [],
): LoadRequest {
  const text = ({ offsets, bytes }: TextArrays): TextArrays => ({ offsets, bytes });
  const dict = ({ codes, values }: DictArrays): DictArrays => ({ codes, values });
  return {
    type: 'load',
    paths: text(graph.paths),
    shapes: dict(graph.shapes),
    opTypes: dict(graph.opTypes),
    edges: graph.edges,
    callers,
    open,
    unstacked,
  };
}
