import type { Measures } from './statistics';

/** The JSON answers of the server (server/http_api.md), with non-finite numbers already turned into numbers. */
export interface RunEntry {
  id: string;
  name: string;
  /** Name of its log directory. */
  logdir?: string;
  created: number;
  last_time: number | null;
  snapshots: number;
  nodes: number;
  steps: StepSpan;
  graphs: number;
  workers: number;
  /** Snapshots with a NaN or infinity; null if none is known, but the import does not count all. */
  nonfinite: number | null;
  live: boolean;
  /** Whether all workers closed the run; if not, it is being written, or was killed. */
  closed: boolean;
  error: string | null;
  /** Number of changes since the list was loaded; counted by the page. */
  news?: number;
}

export interface StepSpan {
  first: number | null;
  last: number | null;
  count: number;
}

export interface RunList extends ReadSoFar {
  logdir: string;
  version: string;
  cursor: string;
  runs: RunEntry[];
}

/** Reading progress of the server. */
export interface ReadSoFar {
  /** Runs that are being read for the first time. */
  reading?: Record<string, Reading>;
  /** The first of them. */
  unread?: Unread[];
  /** How many there are. */
  unread_count?: number;
}

/** A folder that the server cannot read, why, and the fix: its runs are not listed. */
export interface Unread {
  folder: string;
  reason: string;
  hint: string;
}

/** Bytes of a run's statistics: read, and in all. */
export interface Reading {
  done: number;
  total: number;
}

interface RunChange {
  snapshots: number;
  graphs: number;
  last_step: number | null;
  live: boolean;
  closed: boolean;
}

export interface Changes extends ReadSoFar {
  cursor: string;
  /** Removed runs map to null. */
  runs: Record<string, RunChange | null>;
}

/** How tensors were captured: in-graph, or in a shadow copy beside the unchanged step; empty if the dump does not say. */
export type Way = '' | 'in-place' | 'shadow';

export interface GraphEntry {
  id: string;
  name: string;
  way: Way;
  nodes: number;
  edges: number;
  functions: number;
  snapshots: number;
  /** Snapshots with a NaN or infinity; null if none is known, but the import does not count all. */
  nonfinite: number | null;
  /** Steps with snapshots of the graph. */
  steps: StepSpan;
  /** Ids of the workers with snapshots of it. */
  workers: string[];
}

export interface WorkerEntry {
  id: string;
  host: string;
  pid: number;
  rank: number | null;
  started: number;
  closed: boolean;
  live: boolean;
  snapshots: number;
  dropped: number;
  pending: string | null;
  damage: string[];
}

/** Parallel columns, one row per step, ascending. */
export interface StepColumns {
  step: number[];
  time: number[];
  snapshots: number[];
  nan: number[];
  inf: number[];
}

/** An event of a run; FORMAT.md lists the facts of each kind. */
export interface RunEvent {
  kind: string;
  step: number | null;
  time: number;
  worker: string;
  facts: Record<string, unknown>;
}

export interface RunDetail {
  id: string;
  name: string;
  info: Record<string, unknown>;
  created: number;
  workers: WorkerEntry[];
  graphs: GraphEntry[];
  steps: StepColumns;
  statistics: string[];
  /** The last 1000 by time. */
  events: RunEvent[];
  /** Number of steps with recorded samples. */
  batches: StepSpan;
}

interface TensorRef {
  tensor: string;
  node: string;
  slot: number;
  op_type: string;
  dtype: string;
  shape: string;
}

interface NodeOutput {
  tensor: string;
  slot: number;
  dtype: string;
  shape: string;
  snapshots: number;
  kept: number;
  consumers: string[];
}

export interface StackFrame {
  file: string;
  line: number;
  function: string;
  text: string | null;
}

export interface NodeDetail {
  name: string;
  path: string;
  graph: string;
  way: Way;
  op_type: string;
  device: string;
  function: string;
  layer: string;
  attributes: Record<string, string>;
  inputs: TensorRef[];
  control_inputs: string[];
  outputs: NodeOutput[];
  stack: StackFrame[];
  calls: { function: string; role: string }[];
  forward: string | null;
}

export interface Snapshot extends Measures {
  tensor: string;
  node: string;
  slot: number;
  graph: string;
  step: number;
  visit: number;
  worker: string;
  time: number;
  device: string;
  dtype: string;
  shape: number[];
  kept: boolean;
  /** The value was stored, then removed to save space. */
  pruned?: boolean;
  /** Why the value is missing, see server/http_api.md; empty if it is there. */
  no_value?: 'summary' | 'source' | 'pruned' | 'refused' | 'damaged' | '';
  /** The stored sample of the value; null for the whole value. Only on request. */
  sample?: Sample | null;
  /** Of a missing value: what happened, why, and the fix. Only with `sample`. */
  missing?: { happened: string; why: string; fix: string } | null;
  /** Why a part of the value cannot be verified by a checksum; empty if it can. Only with `sample`. */
  unverified?: string;
  /** In lists: see `Trend`. */
  op_type?: string;
  layer?: string;
  trend?: Trend;
  /** Only on request. */
  histogram?: SnapshotHistogram;
}

/** At most `count` elements of a value were stored (FORMAT.md, "Samples"). */
export interface Sample {
  count: number;
  how: 'even' | 'random';
  seed: number;
}

/** A statistic of a tensor along its steps; `bad`: a NaN or Inf since the previous point. */
export interface Trend {
  step: number[];
  value: number[];
  bad: boolean[];
}

/** The samples of one worker's call of a step. */
export interface StepBatch {
  step: number;
  worker: string;
  ids: string[] | null;
  files: string[] | null;
  count: number;
}

/** Ids or file names that contain a text. */
export interface SamplePage {
  total: number;
  rows: { text: string; steps: number; first_step: number; last_step: number }[];
}

export interface SnapshotPage {
  total: number;
  /** Snapshots for which the condition cannot be decided; they are skipped. */
  undecided?: number;
  /** What is wrong with the condition, which is ignored. */
  refused?: string;
  rows: Snapshot[];
}

export interface History {
  tensor: string;
  graph: string;
  thinned_from: number | null;
  /** Ordered by step, visit, worker. */
  rows: Snapshot[];
}

/** The histogram of one snapshot, with its native buckets. */
export interface SnapshotHistogram {
  edges: number[];
  counts: number[];
  zero_bucket: number | null;
}

export interface HistogramRow {
  step: number;
  visit: number;
  worker: string;
  counts: number[];
  nan: number;
  pos_inf: number;
  neg_inf: number;
  zero: number;
  min: number;
  max: number;
}

export interface Histograms {
  tensor: string;
  graph: string;
  edges: number[];
  zero_bucket: number | null;
  approximate: boolean;
  /** Number before thinning; only if thinned. */
  thinned_from?: number;
  rows: HistogramRow[];
}

export interface FoundElements {
  total: number;
  indices: number[][];
}

/** Loss, metrics and learning rate, as logged by the training loop. */
export interface TrainingLogs {
  /** The captured loss tensor that the values are of; null if the training loop logged them. */
  tensor: string | null;
  /** Of each batch, ascending. */
  step: number[];
  epoch: number[];
  values: Record<string, number[]>;
  /** At their ends. */
  epochs: { epoch: number; step: number; values: Record<string, number> }[];
}

export interface Nonfinite extends FoundElements {
  values: string[];
}

export interface NonfiniteProblem {
  tensor: string;
  node: string;
  graph: string;
  first_step: number;
  steps: number;
  nan: number;
  inf: number;
  op_type: string;
  layer: string;
}

export interface Problems {
  nonfinite: NonfiniteProblem[];
  dropped: number;
  damage: string[];
}
