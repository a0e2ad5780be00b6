import { rangeOf, type ValueRange } from '../../model/wire/value_scale';
import { type ColumnSource, encodeColumns } from '../encode';
import { type MockNode, mockNetwork } from './mock_network';
import { type MockSummary, summarize } from './mock_summary';
import { mockArray } from './mock_values';

export const GRAPH_ID = 'train_step-5f2c91';
const SAMPLE = 4096;
const MEASURES = [
  'size',
  'nan',
  'pos_inf',
  'neg_inf',
  'zero',
  'negative',
  'positive',
  'subnormal',
  'min',
  'max',
  'mean',
  'std',
  'l2',
  'abs_max',
] as const;

/** One mock run: a network, and summaries computed on request. */
export class MockRun {
  readonly nodes: MockNode[];
  readonly rows: Map<string, number>;
  private readonly summaries = new Map<string, MockSummary>();

  constructor(
    readonly id: string,
    readonly created: number,
    readonly stride: number,
    public lastStep: number,
    readonly live: boolean,
  ) {
    this.nodes = mockNetwork();
    this.rows = new Map(this.nodes.map((node, i) => [node.name, i]));
  }

  get steps(): number[] {
    return Array.from({ length: Math.floor(this.lastStep / this.stride) + 1 }, (_, i) => i * this.stride);
  }

  get tapped(): MockNode[] {
    return this.nodes.filter((node) => node.dtype !== 'resource' && !node.name.includes('/mask'));
  }

  keeps(node: MockNode, step: number): boolean {
    return /Conv2D$|images|kernel\/Read|Softmax|Relu|labels|loss/.test(node.name) && step % (this.stride * 4) === 0;
  }

  summary(node: MockNode, step: number): MockSummary {
    const key = `${node.name}@${step}`;
    const known = this.summaries.get(key) ?? summarize(mockArray(node, step, SAMPLE));
    this.summaries.set(key, known);
    return known;
  }

  graphColumns(): ArrayBuffer {
    const edges = this.edges();
    const text = (pick: (node: MockNode) => string) => this.nodes.map(pick);
    const columns: Record<string, ColumnSource> = {
      name: { text: text((node) => node.name) },
      path: { text: text((node) => node.name) },
      op_type: { dict: text((node) => node.op_type) },
      device: { dict: text(() => '/device:CPU:0') },
      layer: { dict: text((node) => node.layer) },
      function: { dict: text(() => 'train_step') },
      dtype: { dict: text((node) => node.dtype) },
      shape: { dict: text((node) => node.shape.join('×')) },
      kind: { dict: text(() => '') },
      variable: { dict: text(() => '') },
      slots: Int32Array.from(this.nodes, () => 1),
      edge_source: Int32Array.from(edges, (edge) => edge[0]),
      edge_target: Int32Array.from(edges, (edge) => edge[1]),
      edge_slot: new Int32Array(edges.length),
      edge_input: Int32Array.from(edges, (edge) => edge[2]),
      edge_control: new Uint8Array(edges.length),
    };
    const functions = { train_step: { caller: null, role: 'root', parent: '' } };
    return encodeColumns({ id: GRAPH_ID, name: 'train_step', nodes: this.nodes.length, edges: edges.length, functions }, columns);
  }

  /** [source row, target row, input position]. */
  private edges(): [number, number, number][] {
    return this.nodes.flatMap((node, target) =>
      node.inputs.map((input, i): [number, number, number] => [this.rows.get(input.slice(0, -2)) as number, target, i]),
    );
  }

  /** Of a statistic over all steps. */
  range(name: 'mean' | 'std' | 'min' | 'max' | 'abs_max' | 'l2'): ValueRange {
    return rangeOf(name, Float64Array.from(this.steps.flatMap((step) => this.tapped.map((node) => this.summary(node, step)[name]))));
  }

  stepColumns(step: number): ArrayBuffer {
    const rows = this.tapped;
    const all = rows.map((node) => this.summary(node, step));
    const measures = MEASURES.map((name) => [name, Float64Array.from(all, (summary) => summary[name])] as const);
    return encodeColumns(
      { step },
      {
        node: Int32Array.from(rows, (node) => this.rows.get(node.name) as number),
        slot: new Int32Array(rows.length),
        visits: new Int32Array(rows.length).fill(1),
        ...Object.fromEntries(measures),
        dtype: { dict: rows.map((node) => node.dtype) },
        shape: { dict: rows.map((node) => node.shape.join('×') || 'scalar') },
        kept: Uint8Array.from(rows, (node) => (this.keeps(node, step) ? 1 : 0)),
      },
    );
  }
}
