/** Messages between the page and the layout worker. */

import { DictColumn, TextColumn } from '../lib/arrays/columns';
import type { MetaEdges } from '../model/graph/meta_edges';
import type { ScopeTree } from '../model/graph/tree';
import type { LayerGraph } from '../model/layers/cards';
import type { EdgeColumns, GraphData } from '../model/wire/graph';
import type { BoxSizes } from './scope/cells';
import type { ScopeGraph } from './scope/scope_graph';
import type { ScopeLayout } from './scope/scope_layout';

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
  /** Scope paths to expand; null: the worker chooses. */
  readonly open: readonly string[] | null;
  /** Paths of ungrouped block groups; `*`: all. */
  readonly ungrouped: readonly string[];
}

interface OpenRequest {
  readonly type: 'open';
  readonly scopes: readonly number[] | 'all';
  readonly open: boolean;
}

/** Cancels an expansion in progress and undoes it. */
interface CancelRequest {
  readonly type: 'cancel';
}

/** Requests the layers of a graph and the parts of its step, without a layout. */
export interface LayersRequest {
  readonly type: 'layers';
  readonly graph: PlainGraph;
}

/** Requests the paths of the scopes of a graph. */
interface ScopesRequest {
  readonly type: 'scopes';
  readonly graph: PlainGraph;
}

export type LayoutRequest = LoadRequest | OpenRequest | CancelRequest | LayersRequest | ScopesRequest;

export interface LoadedReply {
  readonly type: 'loaded';
  readonly tree: ScopeTree;
  readonly meta: MetaEdges;
  readonly update: LayoutUpdate;
  /** The scope to show first; 0 for the whole graph. */
  readonly focus: number;
}

interface UpdateReply {
  readonly type: 'update';
  readonly update: LayoutUpdate;
}

interface ProgressReply {
  readonly type: 'progress';
  readonly done: number;
  readonly total: number;
}

interface FailedReply {
  readonly type: 'failed';
  readonly message: string;
}

export interface LayersReply {
  readonly type: 'layers';
  readonly layers: LayerGraph;
  /** See `ROLES`. */
  readonly roles: Uint8Array;
}

/** See `ScopeList`. */
interface ScopesReply {
  readonly type: 'scopes';
  readonly paths: TextArrays;
  readonly nodes: Int32Array;
}

export type LayoutReply = LoadedReply | UpdateReply | ProgressReply | FailedReply | LayersReply | ScopesReply;

/** A graph whose columns lost their methods on the way to the worker. */
export type PlainGraph = {
  readonly [K in keyof GraphData]: GraphData[K] extends TextColumn
    ? TextArrays
    : GraphData[K] extends DictColumn
      ? DictArrays
      : GraphData[K];
};

export function plainGraph(graph: GraphData): PlainGraph {
  const found: Record<string, unknown> = { ...graph };
  for (const [key, value] of Object.entries(graph)) {
    if (value instanceof TextColumn) found[key] = { offsets: value.offsets, bytes: value.bytes };
    else if (value instanceof DictColumn) found[key] = { codes: value.codes, values: value.values };
  }
  return found as unknown as PlainGraph;
}

export function graphOfPlain(plain: PlainGraph): GraphData {
  const found: Record<string, unknown> = { ...plain };
  for (const [key, value] of Object.entries(plain) as [string, Partial<TextArrays & DictArrays>][]) {
    if (value?.bytes && value.offsets) found[key] = new TextColumn(value.offsets, value.bytes);
    else if (value?.codes && value.values) found[key] = new DictColumn(value.codes, value.values);
  }
  return found as unknown as GraphData;
}

export function loadRequest(
  graph: GraphData,
  callers: readonly number[],
  open: readonly string[] | null,
  ungrouped: readonly string[] = [],
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
    ungrouped,
  };
}

// Changes of a relayout, in one array of numbers (it is transferred from the worker): one section per scope, see `UpdateWriter.add`.
// Coordinates are relative to the scope's top left corner.

export interface LayoutUpdate {
  readonly scopes: Int32Array;
  /** Where each scope's section begins in `numbers`. */
  readonly offsets: Int32Array;
  readonly numbers: Float32Array;
  readonly open: Uint8Array;
}

/** Numbers before a section's blocks: width, height, plug, shift of the content, length of the blocks. */
export const SCOPE_NUMBERS = 5;
/** Numbers per child: left, top, width, height, flags. */
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

  /** Five numbers of the scope, its blocks, five numbers per child, then the points of each meta edge after their count. */
  add(graph: ScopeGraph, layout: ScopeLayout): void {
    const entity = this.tree.nodeCount + graph.scope;
    const width = graph.scope === 0 ? layout.width : this.sizes.width[entity]!;
    const shift = (width - layout.width) / 2;
    this.scopes.push(graph.scope);
    this.offsets.push(this.used);
    this.put([width, layout.height, layout.plug + shift, shift, layout.blocks.length]);
    this.put(layout.blocks);
    this.addChildren(graph.entities, layout, shift);
    this.addRoutes(layout.routes);
  }

  // Loops over thousands of items have functions of their own: with code after such a loop, V8 repeatedly discards its compiled code,
  // which took half the time of expanding 50,000 scopes.
  private addChildren(entities: Int32Array, { left, top, flags }: ScopeLayout, shift: number): void {
    this.reserve(CHILD_NUMBERS * entities.length);
    for (let i = 0; i < entities.length; i++) {
      const child = entities[i]!;
      this.numbers[this.used++] = left[i]! + shift;
      this.numbers[this.used++] = top[i]!;
      this.numbers[this.used++] = this.sizes.width[child]!;
      this.numbers[this.used++] = this.sizes.height[child]!;
      this.numbers[this.used++] = flags[i]!;
    }
  }

  private addRoutes(routes: ScopeLayout['routes']): void {
    for (let e = 0; e < routes.length; e++) {
      this.reserve(1);
      this.numbers[this.used++] = routes[e]!.length / 2;
      this.put(routes[e]!);
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
