import type { Measures } from './statistics';

/** The JSON answers of the server (server/http_api.md), with non-finite numbers already turned into numbers. */
export interface RunEntry {
  id: string;
  name: string;
  /** The own name of the log directory that holds it. */
  logdir?: string;
  created: number;
  last_time: number | null;
  snapshots: number;
  nodes: number;
  steps: StepSpan;
  graphs: number;
  workers: number;
  /** Snapshots with a NaN or infinity; null where none is known, but the source of an import does not tell of all. */
  nonfinite: number | null;
  live: boolean;
  /** Whether all workers closed the run; else it is being written, or ended without being closed. */
  closed: boolean;
  error: string | null;
  /** How often a change was heard of since the list was loaded; counted by the page. */
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

/** How far the server has read. */
export interface ReadSoFar {
  /** Runs that are being read for the first time. */
  reading?: Record<string, Reading>;
  /** The first of them. */
  unread?: Unread[];
  /** How many there are. */
  unread_count?: number;
}

/** A folder that the server cannot look into, why, and the way out: runs in it are not listed. */
export interface Unread {
  folder: string;
  reason: string;
  hint: string;
}

/** Bytes of a run's statistics that the server has read, and that there are. */
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
  /** Runs that are gone map to null. */
  runs: Record<string, RunChange | null>;
}

/** How tensors were captured: in the step itself, or in a shadow beside the untouched step; empty if the dump does not say. */
export type Way = '' | 'in-place' | 'shadow';

export interface GraphEntry {
  id: string;
  name: string;
  way: Way;
  nodes: number;
  edges: number;
  functions: number;
  snapshots: number;
  /** Snapshots with a NaN or infinity; null where none is known, but the source of an import does not tell of all. */
  nonfinite: number | null;
  /** Those at which the graph was captured. */
  steps: StepSpan;
  /** Ids of the workers that captured it. */
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

/** Parallel columns, one row a step, ascending. */
export interface StepColumns {
  step: number[];
  time: number[];
  snapshots: number[];
  nan: number[];
  inf: number[];
}

/** Something that happened to a run besides snapshots; FORMAT.md says what the facts of each kind are. */
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
  /** The steps that say which samples fed them. */
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
  /** The value was kept, and removed to save space. */
  pruned?: boolean;
  /** Why the value is not there, see server/http_api.md; empty where it is. */
  no_value?: 'summary' | 'source' | 'pruned' | 'refused' | 'damaged' | '';
  /** Which part of the value was kept; null for all of it. Asked for where values are shown. */
  sample?: Sample | null;
  /** Of a value that is not there: what happened to it, why, and the fix, in words. Asked for with `sample`. */
  missing?: { happened: string; why: string; fix: string } | null;
  /** Why a part of the value cannot be compared with a checksum; empty where it can. Asked for with `sample`. */
  unverified?: string;
  /** In lists: see `Trend`. */
  op_type?: string;
  layer?: string;
  trend?: Trend;
  /** Where it was asked for. */
  histogram?: SnapshotHistogram;
}

/** At most `count` elements of a value were kept (FORMAT.md, "Samples"). */
export interface Sample {
  count: number;
  how: 'even' | 'random';
  seed: number;
}

/** A statistic of a tensor at some places along its steps; `bad`: a NaN or Inf since the place before. */
export interface Trend {
  step: number[];
  value: number[];
  bad: boolean[];
}

/** The samples that one worker's call of a step was fed with. */
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
  /** Snapshots of which the condition cannot be decided: they are left out. */
  undecided?: number;
  rows: Snapshot[];
}

export interface History {
  tensor: string;
  graph: string;
  thinned_from: number | null;
  /** Ordered by step, visit, worker. */
  rows: Snapshot[];
}

/** The histogram of one snapshot, on the native buckets that it uses. */
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
  /** How many there were before they were thinned; only where they were. */
  thinned_from?: number;
  rows: HistogramRow[];
}

export interface FoundElements {
  total: number;
  indices: number[][];
}

/** Loss, metrics and learning rate, as the training loop logged them. */
export interface TrainingLogs {
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
