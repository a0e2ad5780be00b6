/** Answers of `runs/<run>/recordings` and `replay/<run>/compute` (server/http_api.md), and facts that Replay derives from them. */

import type { Progress } from './findings';
import { type GraphData, rowOf } from './graph';
import { parseTensorName } from './names';

export interface RecordingEntry {
  id: string;
  step: number;
  /** Number of the call in the step. */
  call: number;
  /** Name of the called function, and the id of its graph; empty if the recording does not say. */
  function: string;
  graph: string;
  /** Why it cannot be read, or empty. */
  damage: string;
}

export interface Recordings {
  /** Whether the server computes; if not, `hint` is the fix. */
  allowed: boolean;
  hint: string;
  recordings: RecordingEntry[];
  /** Tests of a step's logic, and the question of each. */
  tests: { name: string; question: string }[];
}

/** Columns, one row per tensor. */
interface TensorColumns {
  name: string[];
  dtype: string[];
  shape: number[][];
  nan: number[];
  inf: number[];
  /** The first iteration with any of them, or -1. */
  bad_visit: number[];
  visits: number[];
  kept: boolean[];
  /** Whether the captured value was reproduced, by its hash; null if none was captured. */
  proven: (boolean | null)[];
}

export interface Computed {
  /** Id of a run that is not listed. */
  run: string;
  graph: string;
  step: number;
  failed: string;
  /** Whether the step's results, and each tensor by its `proven`, equal the recording; null with changes. */
  proofs: { step: Proof; tensor: Record<`${boolean | null}`, Proof> } | null;
  changed: string[];
  order: string[];
  /** Nodes that create a NaN or an infinity. */
  origins: string[];
  tensors: TensorColumns;
}

/** Status of a computation; requested again while `working`. */
export interface ReplayAnswer<T> {
  working: boolean;
  progress: Progress;
  error: string | null;
  hint: string;
  result: T | null;
}

/** The recording of a step: the last call of the current graph, else its last call; null if the step was not recorded. */
export function recordingOf(recordings: readonly RecordingEntry[], step: number | null, graph: string | null): RecordingEntry | null {
  const calls = recordings.filter((each) => each.step === step);
  return calls.findLast((each) => each.graph === graph) ?? calls.at(-1) ?? null;
}

/** The recording of a step, else the last recording, as in `recordingOf`. */
export function recordingAt(recordings: readonly RecordingEntry[], step: number | null, graph: string | null): RecordingEntry | null {
  return recordingOf(recordings, step, graph) ?? recordingOf(recordings, recordings.at(-1)?.step ?? null, graph);
}

/** The step; if several of its calls were recorded, also the function, and its number if needed; `damaged`. */
export function recordingLabel(recording: RecordingEntry, recordings: readonly RecordingEntry[]): string {
  const beside = recordings.filter((each) => each.step === recording.step && each.id !== recording.id);
  const alone = beside.length === 0 && recording.call === 0;
  const named = recording.function !== '' && beside.every((each) => each.function !== recording.function);
  const call = alone ? [] : [recording.function, !named && `call ${recording.call}`];
  return [recording.step, ...call, recording.damage && 'damaged'].filter((part) => part !== '' && part !== false).join(', ');
}

export interface TensorFacts {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly nan: number;
  readonly inf: number;
  readonly badVisit: number;
  readonly visits: number;
  readonly changed: boolean;
}

/** A computed step, with lookup by tensor and by node. */
export class ComputedStep {
  private readonly rows: Map<string, number>;
  private readonly changed: Set<string>;
  /** Position of each node in `order`. */
  private readonly places: Map<string, number>;
  private readonly badNodes: Set<string>;
  private readonly origins: Set<string>;
  readonly changedNodes: Set<string>;
  /** Number of tensors with NaN or infinity. */
  readonly badCount: number;

  constructor(
    readonly data: Computed,
    readonly order: readonly string[] = data.order,
  ) {
    this.rows = new Map(data.tensors.name.map((name, row) => [name, row]));
    this.changed = new Set(data.changed);
    this.changedNodes = new Set(data.changed.map((name) => parseTensorName(name).node));
    this.places = new Map(order.map((name, place) => [name, place]));
    const bad = data.tensors.name.filter((_, row) => (data.tensors.nan[row] ?? 0) + (data.tensors.inf[row] ?? 0) > 0);
    this.badNodes = new Set(bad.map((name) => parseTensorName(name).node));
    this.badCount = bad.length;
    this.origins = new Set(data.origins);
  }

  tensor(name: string): TensorFacts | null {
    const row = this.rows.get(name);
    if (row === undefined) return null;
    const { dtype, shape, nan, inf, bad_visit, visits } = this.data.tensors;
    return {
      name,
      dtype: dtype[row] ?? '',
      shape: shape[row] ?? [],
      nan: nan[row] ?? 0,
      inf: inf[row] ?? 0,
      badVisit: bad_visit[row] ?? -1,
      visits: visits[row] ?? 0,
      changed: this.changed.has(name),
    };
  }

  isBad(node: string): boolean {
    return this.badNodes.has(node);
  }

  /** Whether it creates a NaN or an infinity, rather than propagating one. */
  isOrigin(node: string): boolean {
    return this.origins.has(node);
  }

  get originCount(): number {
    return this.origins.size;
  }

  placeOf(node: string): number {
    return this.places.get(node) ?? -1;
  }

  /** Position of the next matching node from `from` in that direction, or -1. */
  next(from: number, offset: 1 | -1, fits: (node: string) => boolean): number {
    for (let place = from + offset; place >= 0 && place < this.order.length; place += offset) {
      if (fits(this.order[place] as string)) return place;
    }
    return -1;
  }

  /** The first later node outside this node's scope; the last node if there is none. */
  out(from: number): number {
    const name = this.order[from] ?? '';
    const scope = name.slice(0, name.lastIndexOf('/') + 1);
    const found = scope === '' ? -1 : this.next(from, 1, (node) => !node.startsWith(scope));
    return found < 0 ? this.order.length - 1 : found;
  }
}

/** Colours of the graph, by row: 0 not computed, 1 as recorded, 2 changed, 3 overridden. */
export function changesByRow(graph: GraphData, step: ComputedStep, overridden: ReadonlySet<string>): Uint8Array {
  const found = new Uint8Array(graph.nodeCount);
  for (const tensor of step.data.tensors.name) {
    const row = rowOf(graph, parseTensorName(tensor).node);
    if (row >= 0) found[row] = 1;
  }
  for (const node of step.changedNodes) {
    const row = rowOf(graph, node);
    if (row >= 0) found[row] = overridden.has(node) ? 3 : 2;
  }
  return found;
}

/** Whether the shown values equal the recording: in a word, and in a sentence without its full stop. */
interface Proof {
  readonly proven: boolean;
  readonly word: string;
  readonly text: string;
}

/** The proof of a tensor; null with changes, which have none. */
export function proofOf({ proofs, tensors }: Computed, tensor: string): Proof | null {
  return proofs?.tensor[`${tensors.proven[tensors.name.indexOf(tensor)] ?? null}`] ?? null;
}

// Answers of `replay/<run>/test` (server/http_api.md): a recorded step's logic, tested.

export interface LogicResult {
  passed: boolean;
  summary: string;
  columns: string[];
  /** One list per column; the most significant first. */
  rows: (string | number | null)[][];
  rows_total: number;
}

const WORDS: Readonly<Record<string, string>> = { op_type: 'op type' };

/** Display name of a column. */
export const columnTitle = (column: string): string => WORDS[column] ?? column;

/** Whether a column names tensors. */
export const isTensorColumn = (column: string): boolean => column === 'tensor' || column === 'gradient';

/** Number of leading columns that name the tested item; at least one column remains for the result. */
export function nameColumns(columns: readonly string[]): number {
  const other = columns.findIndex((column, at) => at > 0 && !isTensorColumn(column));
  return other < 0 ? columns.length - 1 : other;
}

/** `file:line  text` without folders, for which a column has no room. */
export const shortLine = (text: string): string => text.replace(/^.*?([^/]*:\d+ {2})/, '$1');
