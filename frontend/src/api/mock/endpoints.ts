import type { RunDetail, RunEntry } from '../../model/wire/answers';
import { encodeNpy } from '../encode';
import type { Query } from '../provider';
import { ApiError } from '../provider';
import { MOCK_FILE, MOCK_SOURCE, type MockNode } from './mock_network';
import { GRAPH_ID, type MockRun } from './mock_run';
import { symlogHistograms } from './mock_summary';
import { BREAK_STEP, mockArray } from './mock_values';

/** Answers of the mock server, one function per noun of server/http_api.md. */
const WORKER = 'gpu-3-4711-9f3ac2e1';

export function runEntry(run: MockRun): RunEntry {
  const steps = run.steps;
  const hurt = steps.filter((step) => step >= BREAK_STEP).length;
  return {
    id: run.id,
    name: run.id,
    created: run.created,
    last_time: run.created + 3 * steps.length,
    snapshots: steps.length * run.tapped.length,
    nodes: run.nodes.length,
    steps: { first: 0, last: run.lastStep, count: steps.length },
    graphs: 1,
    workers: 1,
    nonfinite: hurt * 40,
    live: run.live,
    closed: !run.live,
    error: null,
  };
}

export function runDetail(run: MockRun, graph: unknown): RunDetail {
  if (graph && graph !== GRAPH_ID) throw new ApiError(404, `The run has no graph '${graph}'.`, 'Choose another one.');
  const steps = run.steps;
  const entry = runEntry(run);
  const hurt = (step: number) => (step >= BREAK_STEP ? run.tapped.filter((node) => /^(gradient|adam|loss)/.test(node.name)).length : 0);
  return {
    id: run.id,
    name: run.id,
    info: { host: 'gpu-3', command: 'python train.py' },
    created: run.created,
    workers: [
      {
        id: WORKER,
        host: 'gpu-3',
        pid: 4711,
        rank: null,
        started: run.created,
        closed: !run.live,
        live: run.live,
        snapshots: entry.snapshots,
        dropped: 0,
        pending: null,
        damage: [],
      },
    ],
    graphs: graphEntries(run),
    steps: {
      step: steps,
      time: steps.map((step) => run.created + step),
      snapshots: steps.map(() => run.tapped.length),
      nan: steps.map((step) => (step >= BREAK_STEP + 10 ? hurt(step) : 0)),
      inf: steps.map((step) => (step >= BREAK_STEP && step < BREAK_STEP + 10 ? 1 : 0)),
    },
    statistics: ['min', 'max', 'mean', 'std', 'l2', 'abs_max'],
    events: [],
    batches: { first: null, last: null, count: 0 },
  };
}

export function graphEntries(run: MockRun): RunDetail['graphs'] {
  const edges = run.nodes.reduce((sum, node) => sum + node.inputs.length, 0);
  return [
    {
      id: GRAPH_ID,
      name: 'train_step',
      way: 'in-place',
      nodes: run.nodes.length,
      edges,
      functions: 1,
      snapshots: runEntry(run).snapshots,
      nonfinite: runEntry(run).nonfinite,
      steps: runEntry(run).steps,
      workers: [WORKER],
    },
  ];
}

const tensorOf = (node: MockNode) => `${node.name}:0`;

export function nodeDetail(run: MockRun, node: MockNode): unknown {
  const input = (tensor: string) => {
    const from = run.nodes[run.rows.get(tensor.slice(0, -2)) as number] as MockNode;
    return { tensor, node: from.name, slot: 0, op_type: from.op_type, dtype: from.dtype, shape: from.shape.join('×') };
  };
  const consumers = run.nodes.filter((other) => other.inputs.includes(tensorOf(node))).map((other) => other.name);
  const tapped = run.tapped.includes(node);
  const kept = run.steps.filter((step) => tapped && run.keeps(node, step)).length;
  const text = MOCK_SOURCE.split('\n')[node.line - 1] ?? null;
  return {
    name: node.name,
    path: node.name,
    graph: GRAPH_ID,
    way: 'in-place',
    op_type: node.op_type,
    device: '/device:CPU:0',
    function: 'train_step',
    layer: node.layer,
    attributes: { T: 'DT_FLOAT', ...(node.op_type === 'Conv2D' && { strides: '[1, 1, 1, 1]', padding: 'SAME', data_format: 'NHWC' }) },
    inputs: node.inputs.map(input),
    control_inputs: [],
    outputs: [
      {
        tensor: tensorOf(node),
        slot: 0,
        dtype: node.dtype,
        shape: node.shape.join('×'),
        snapshots: tapped ? run.steps.length : 0,
        kept,
        consumers,
      },
    ],
    stack: [
      { file: MOCK_FILE, line: 21, function: 'train_step', text: MOCK_SOURCE.split('\n')[20] ?? null },
      { file: MOCK_FILE, line: node.line, function: '<module>', text },
    ],
    calls: [],
    forward: node.name.startsWith('gradient_tape/sequential') ? node.name.slice(14, -4) : null,
  };
}

function snapshotRow(run: MockRun, node: MockNode, step: number): Record<string, unknown> {
  const { buckets, ...measures } = run.summary(node, step);
  return {
    tensor: tensorOf(node),
    node: node.name,
    slot: 0,
    graph: GRAPH_ID,
    step,
    visit: 0,
    worker: WORKER,
    time: run.created + step,
    device: '/device:CPU:0',
    dtype: node.dtype,
    shape: node.shape,
    ...measures,
    kept: run.keeps(node, step),
  };
}

export function snapshots(run: MockRun, nodes: MockNode[], steps: number[]): unknown {
  const rows = nodes.flatMap((node) => steps.map((step) => snapshotRow(run, node, step)));
  return { total: rows.length, rows: rows.slice(0, 1000) };
}

/** A list as the page requests it: by step and part of the name, sorted, one page at a time. */
export function snapshotList(run: MockRun, query: Query): unknown {
  const steps = typeof query.step === 'number' ? [query.step] : run.steps;
  const pattern = new RegExp(String(query.match ?? '').replace(/^\(\?i\)/, ''), 'i');
  const rows = run.tapped.flatMap((node) =>
    steps.map((step) => ({ ...snapshotRow(run, node, step), op_type: node.op_type, layer: node.layer })),
  );
  const found = (rows as Record<string, unknown>[]).filter((row) => pattern.test(String(row.tensor)));
  const name = String(query.sort ?? 'step').replace(/^-/, '');
  const sign = String(query.sort).startsWith('-') ? -1 : 1;
  const before = (a: unknown, b: unknown) => (typeof a === 'number' ? a - Number(b) : String(a) < String(b) ? -1 : 1);
  if (name !== 'flow') found.sort((a, b) => sign * before(a[name], b[name]));
  const offset = Number(query.offset ?? 0);
  const place = found.findIndex((row) => row.tensor === query.at && row.step === query.at_step);
  return { total: found.length, rows: found.slice(offset, offset + Number(query.limit ?? 100)), place: place < 0 ? null : place };
}

/** A loss that falls, as a training loop logs it. */
export function logs(run: MockRun): unknown {
  const { steps } = run;
  return {
    tensor: null,
    step: steps,
    epoch: steps.map((_, i) => Math.floor((3 * i) / Math.max(1, steps.length))),
    values: { loss: steps.map((step) => 2.3 * Math.exp(-step / 40) + 0.05) },
    epochs: [],
  };
}

export function history(run: MockRun, node: MockNode): unknown {
  const rows = run.tapped.includes(node) ? run.steps.map((step) => snapshotRow(run, node, step)) : [];
  const names = Object.keys(rows[0] ?? { step: 0 }).filter((name) => !['tensor', 'node', 'slot', 'graph', 'device'].includes(name));
  return {
    tensor: tensorOf(node),
    graph: GRAPH_ID,
    columns: Object.fromEntries(names.map((name) => [name, rows.map((row) => row[name])])),
  };
}

export function histograms(run: MockRun, node: MockNode, linear: boolean, only: unknown): unknown {
  const thin = Math.max(1, Math.ceil(run.steps.length / 60));
  const chosen = (step: number, i: number) => (only === undefined ? i % thin === 0 || i === run.steps.length - 1 : step === Number(only));
  const steps = run.steps.filter(chosen);
  const all = run.tapped.includes(node) ? steps.map((step) => run.summary(node, step)) : [];
  const { edges, zero_bucket, counts } = linear ? linearHistograms(node, steps) : symlogHistograms(all);
  const rows = all.map((summary, i) => {
    const { nan, pos_inf, neg_inf, zero, min, max } = summary;
    return { step: steps[i], visit: 0, worker: WORKER, counts: counts[i], nan, pos_inf, neg_inf, zero, min, max };
  });
  return { tensor: tensorOf(node), graph: GRAPH_ID, edges, zero_bucket, rows };
}

function linearHistograms(node: MockNode, steps: number[]): { edges: number[]; zero_bucket: number; counts: number[][] } {
  const arrays = steps.map((step) => mockArray(node, step, 4096));
  const finite = arrays.flatMap((array) => [...array].filter(Number.isFinite));
  const low = finite.reduce((a, b) => Math.min(a, b), 0);
  const high = finite.reduce((a, b) => Math.max(a, b), 0) || 1;
  const edges = Array.from({ length: 61 }, (_, i) => low + ((high - low) * i) / 60);
  const counts = arrays.map((array) => {
    const row = new Array<number>(60).fill(0);
    for (const value of array) if (Number.isFinite(value)) row[Math.min(59, Math.floor((60 * (value - low)) / (high - low)))]!++;
    return row;
  });
  return { edges, zero_bucket: Math.min(59, Math.floor((-60 * low) / (high - low))), counts };
}

export function value(node: MockNode, step: number, selection: string): ArrayBuffer {
  const whole = mockArray(node, step);
  const slice = select(whole, node.shape, selection);
  if (node.dtype === 'int64')
    return encodeNpy('<i8', slice.shape, new Uint8Array(BigInt64Array.from([...slice.values].map((v) => BigInt(v))).buffer));
  return encodeNpy('<f4', slice.shape, new Uint8Array(slice.values.buffer as ArrayBuffer));
}

export function nonfinite(node: MockNode, step: number, limit: number): unknown {
  const values = mockArray(node, step);
  const found: number[] = [];
  values.forEach((v, i) => {
    if (!Number.isFinite(v)) found.push(i);
  });
  const indexOf = (flat: number) => {
    let rest = flat;
    return [...node.shape]
      .reverse()
      .map((length) => {
        const at = rest % length;
        rest = Math.floor(rest / length);
        return at;
      })
      .reverse();
  };
  return { total: found.length, indices: found.slice(0, limit).map(indexOf), values: found.slice(0, limit).map((i) => String(values[i])) };
}

export function problems(run: MockRun): unknown {
  const hurt = run.lastStep < BREAK_STEP ? [] : run.tapped.filter((node) => /^(loss|gradient|adam)/.test(node.name));
  const rows = hurt.map((node) => {
    const first = node.name === 'loss/Log' ? BREAK_STEP : BREAK_STEP + 10;
    const { nan, pos_inf, neg_inf } = run.summary(node, first);
    const { op_type, layer, name } = node;
    const steps = run.steps.filter((step) => step >= first).length;
    return { tensor: `${name}:0`, node: name, graph: GRAPH_ID, first_step: first, steps, nan, inf: pos_inf + neg_inf, op_type, layer };
  });
  return { nonfinite: rows.sort((a, b) => a.first_step - b.first_step), dropped: 0, damage: [] };
}

/** NumPy's basic indexing of a row-major array by a selection text such as `0,:,10:20:2`. */
function select(values: Float32Array, shape: number[], selection: string): { shape: number[]; values: Float32Array } {
  const parts = selection === '' ? [] : selection.split(',');
  const axes = shape.map((length, dim) => indices(parts[dim] ?? ':', length));
  const outShape = axes.filter((axis) => !axis.drop).map((axis) => axis.at.length);
  const out = new Float32Array(axes.reduce((product, axis) => product * axis.at.length, 1));
  const strides = shape.map((_, dim) => shape.slice(dim + 1).reduce((product, length) => product * length, 1));
  for (let i = 0; i < out.length; i++) {
    let rest = i;
    let from = 0;
    for (let dim = axes.length - 1; dim >= 0; dim--) {
      const { at } = axes[dim] as { at: number[] };
      from += (at[rest % at.length] as number) * (strides[dim] as number);
      rest = Math.floor(rest / at.length);
    }
    out[i] = values[from] as number;
  }
  return { shape: outShape, values: out };
}

function indices(part: string, length: number): { at: number[]; drop: boolean } {
  if (!part.includes(':')) return { at: [Number(part)], drop: true };
  const [start, stop, step] = part.split(':');
  const by = step ? Number(step) : 1;
  const end = Math.min(length, stop ? Number(stop) : length);
  const at: number[] = [];
  for (let i = start ? Number(start) : 0; i < end; i += by) at.push(i);
  return { at, drop: false };
}
