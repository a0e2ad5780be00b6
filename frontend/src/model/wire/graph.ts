/** One graph of a run, as `runs/<run>/graphs/<graph>` sends it: columns over nodes (one row per node) and over edges. */

import { type Columns, ColumnsError, type DictColumn, decodeColumns, type TextColumn } from '../../lib/arrays/columns';
import type { NodeStatistic, ValueRange } from './value_scale';

/** Edges by row number of their nodes; `slot` is the source's output slot, `input` the target's input position. */
export interface EdgeColumns {
  readonly source: Int32Array;
  readonly target: Int32Array;
  readonly slot: Int32Array;
  readonly input: Int32Array;
  readonly control: Uint8Array;
}

/** How a function is called: the calling node, and its role there. */
export interface FunctionInfo {
  readonly caller: string | null;
  readonly role: string;
  readonly parent: string;
  /** Row and slot of each returned tensor, alternating; row -1 for an unknown node. */
  readonly returns?: readonly number[];
}

/** One call of a Keras layer during tracing. */
export interface LayerCall {
  /** Names of the enclosing layers and its own: `model/block/dense`. */
  readonly path: string;
  readonly className: string;
  /** Whether it is one of Keras' own layers, not a model or a user's layer. */
  readonly builtin: boolean;
  readonly parameters: number;
  /** Its arguments in short form: `units=64, activation=relu`. */
  readonly config: string;
  /** Where its class is defined, `file:line`; empty for Keras' own. */
  readonly source: string;
}

export interface GraphData {
  readonly id: string;
  readonly name: string;
  readonly nodeCount: number;
  readonly names: TextColumn;
  /** Display path of a node: scopes separated by `/`, then its label. */
  readonly paths: TextColumn;
  readonly opTypes: DictColumn;
  readonly devices: DictColumn;
  readonly layers: DictColumn;
  readonly functions: DictColumn;
  /** dtype and shape (`32×?×10`) of output slot 0. */
  readonly dtypes: DictColumn;
  readonly shapes: DictColumn;
  /**
   * Role of a node in the model (`weight`, `gradient`, `update`, `loss`, `output`, `input`), and of which variable; as recorded by the
   * tap.
   */
  readonly kinds: DictColumn;
  readonly variables: DictColumn;
  /** Number of outputs. */
  readonly slots: Int32Array;
  /** Shapes of all outputs of input nodes, by row. */
  readonly slotShapes: ReadonlyMap<number, readonly string[]>;
  /** Variables that are not trained. */
  readonly frozen: readonly string[];
  /** The calls of Keras layers; empty if none were recorded. */
  readonly layerCalls: readonly LayerCall[];
  readonly edges: EdgeColumns;
  readonly functionInfo: Readonly<Record<string, FunctionInfo>>;
}

const graphsByAnswer = new WeakMap<ArrayBuffer, GraphData>();

/** Decodes the answer of `runs/<run>/graphs/<graph>`; equal answers give the same object. Throws `ColumnsError`. */
export function decodeGraph(buffer: ArrayBuffer): GraphData {
  const graph = graphsByAnswer.get(buffer) ?? graphFromColumns(decodeColumns(buffer));
  graphsByAnswer.set(buffer, graph);
  return graph;
}

function graphFromColumns(columns: Columns): GraphData {
  const names = columns.text('name');
  checkEdges(columns, names.length);
  return {
    id: String(columns.meta.id ?? ''),
    name: String(columns.meta.name ?? ''),
    nodeCount: names.length,
    names,
    paths: columns.text('path'),
    opTypes: columns.dict('op_type'),
    devices: columns.dict('device'),
    layers: columns.dict('layer'),
    functions: columns.dict('function'),
    dtypes: columns.dict('dtype'),
    shapes: columns.dict('shape'),
    kinds: columns.dict('kind'),
    variables: columns.dict('variable'),
    slots: columns.i32('slots'),
    slotShapes: new Map(
      Object.entries((columns.meta.slot_shapes ?? {}) as Record<string, string[]>).map(([row, shapes]) => [Number(row), shapes]),
    ),
    frozen: (columns.meta.frozen ?? []) as string[],
    layerCalls: ((columns.meta.layers ?? []) as WireLayer[]).map(layerCall),
    edges: {
      source: columns.i32('edge_source'),
      target: columns.i32('edge_target'),
      slot: columns.i32('edge_slot'),
      input: columns.i32('edge_input'),
      control: columns.u8('edge_control'),
    },
    functionInfo: (columns.meta.functions ?? {}) as Record<string, FunctionInfo>,
  };
}

interface WireLayer {
  readonly path: string;
  readonly class: string;
  readonly module: string;
  readonly parameters: number;
  readonly config: string;
  readonly source: { readonly file: string; readonly line: number } | null;
}

function layerCall({ path, class: className, module, parameters, config, source }: WireLayer): LayerCall {
  const builtin = /^keras(?:\.src)?\.layers\b/.test(module);
  return { path, className, builtin, parameters, config, source: source ? `${source.file}:${source.line}` : '' };
}

/** Drops edges to unknown nodes, which would break everything that follows edges. */
function checkEdges(columns: Columns, nodes: number): void {
  for (const name of ['edge_source', 'edge_target']) {
    const rows = columns.i32(name);
    for (let edge = 0; edge < rows.length; edge++) {
      const row = rows[edge]!; // counted: before the browser has compiled this, a for-of takes 5 times as long
      if (row < 0 || row >= nodes) throw new ColumnsError(`${name} names row ${row} of ${nodes} nodes; reload the page`);
    }
  }
}

/** By the column of names, which a graph shares with its drawn parts. */
const rowsByName = new WeakMap<TextColumn, Map<string, number>>();

/** Row of a node by name, -1 if the graph has no such node. */
export function rowOf(graph: GraphData, name: string): number {
  let rows = rowsByName.get(graph.names);
  if (!rows) {
    rows = new Map();
    for (let row = 0; row < graph.nodeCount; row++) rows.set(graph.names.at(row), row);
    rowsByName.set(graph.names, rows);
  }
  return rows.get(name) ?? -1;
}

/** Nodes that call a function: its body is drawn as a scope in their place. */
export function callerRows(graph: GraphData): number[] {
  const callers = new Set<number>();
  for (const { caller } of Object.values(graph.functionInfo)) {
    const row = caller === null ? -1 : rowOf(graph, caller);
    if (row >= 0) callers.add(row);
  }
  return [...callers];
}

/** What the boxes are coloured by. */
export interface ColourBy {
  readonly kind: ColourKind;
  /** For `kind: 'statistic'`; `abs_max` by default. */
  readonly statistic?: NodeStatistic;
  /** Over all steps, which then share one scale; without it, the scale fits the values of the step. */
  readonly range?: ValueRange;
  /** For `kind: 'difference'`: the worst verdict of each node, see `verdictsByRow`; for `changed`: see `changesByRow`. */
  readonly verdicts?: Uint8Array;
}

export const COLOUR_KINDS = ['health', 'statistic', 'size', 'op', 'dtype', 'layer', 'device', 'difference', 'changed'] as const;
export type ColourKind = (typeof COLOUR_KINDS)[number];
