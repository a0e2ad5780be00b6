/** Role of each node in a step: by data flow and by what the tap recorded about tensors, not by names. */

import type { DictColumn } from '../../lib/arrays/columns';
import type { GraphData } from '../wire/graph';
import type { DataFlow } from './data_flow';
import { ASSIGN, FED, READS, TAPE } from './op_sets';

export const ROLES = ['input', 'forward', 'loss', 'backward', 'optimizer', 'metrics', 'bookkeeping'] as const;
export type Role = (typeof ROLES)[number];

export const [INPUT, FORWARD, LOSS, BACKWARD, OPTIMIZER, METRICS, BOOKKEEPING] = [1, 2, 3, 4, 5, 6, 7] as const;

/** Code of a role in `StepRoles.role`. */
export const roleCode = (role: Role): number => ROLES.indexOf(role) + 1;

export interface StepRoles {
  /** `INPUT` … `BOOKKEEPING` of each row. */
  readonly role: Uint8Array;
  /** 1 for nodes from which the loss is computed; without a loss, the function's results. */
  readonly core: Uint8Array;
}

// Counted loops: `from` and `map` of typed arrays take ten times as long over 200,000 rows.
const ops = (column: DictColumn, wanted: (op: string) => boolean): Uint8Array => {
  const { codes, values } = column;
  const flags = values.map((value) => (wanted(value) ? 1 : 0));
  const mask = new Uint8Array(codes.length);
  for (let row = 0; row < codes.length; row++) mask[row] = flags[codes[row]!] ?? 0;
  return mask;
};

const rowsOf = (mask: Uint8Array): number[] => {
  const rows: number[] = [];
  for (let row = 0; row < mask.length; row++) if (mask[row]) rows.push(row);
  return rows;
};

const without = (mask: Uint8Array, ...others: readonly Uint8Array[]): Uint8Array => {
  const left = mask.slice();
  for (const other of others) for (let row = 0; row < left.length; row++) if (other[row]) left[row] = 0;
  return left;
};

const join = (...masks: readonly Uint8Array[]): Uint8Array => {
  const joined = masks[0]!.slice();
  for (const mask of masks) for (let row = 0; row < joined.length; row++) if (mask[row]) joined[row] = 1;
  return joined;
};

export function rolesOf(graph: GraphData, flow: DataFlow): StepRoles {
  return new Partition(graph, flow).run();
}

class Partition {
  private readonly role: Uint8Array;
  private readonly rows: number[];
  private readonly layered: Uint8Array;
  private readonly fed: number[];
  private readonly assigns: Uint8Array;
  private readonly reads: Uint8Array;
  private readonly consts: Uint8Array;
  private readonly saving: Uint8Array;

  constructor(
    private readonly graph: GraphData,
    private readonly flow: DataFlow,
  ) {
    const { opTypes, dtypes, layers } = graph;
    this.role = new Uint8Array(graph.nodeCount);
    this.rows = Array.from({ length: graph.nodeCount }, (_, row) => row);
    this.layered = ops(layers, (layer) => layer !== '');
    this.consts = ops(opTypes, (op) => op === 'Const');
    this.reads = ops(opTypes, (op) => READS.has(op));
    const fed = ops(opTypes, (op) => FED.has(op));
    const argument = ops(opTypes, (op) => op === '_Arg');
    const opaque = ops(dtypes, (dtype) => dtype === 'resource' || dtype === 'variant' || dtype === '');
    this.fed = this.rows.filter((row) => fed[row] || (argument[row] && !opaque[row] && flow.inStart[row] === flow.inStart[row + 1]));
    this.saving = this.savingRows();
    this.assigns = without(
      ops(opTypes, (op) => ASSIGN.test(op)),
      this.saving,
    );
  }

  run(): StepRoles {
    const { graph, flow, role } = this;
    this.give(rowsOf(this.saving), BOOKKEEPING);
    const kind = (wanted: string): Uint8Array => ops(graph.kinds, (value) => value === wanted);
    const marked = rowsOf(without(kind('gradient'), this.consts));
    const tape = marked.length > 0 ? new Uint8Array(graph.nodeCount) : this.tapeRows();
    const gradients = marked.length > 0 ? marked : this.leavingTape(tape);
    const losses = rowsOf(kind('loss'));
    const training = gradients.length > 0;
    const core = this.coreRows(training, losses, tape);
    if (losses.length === 0 && training) losses.push(...this.lossByShape(core));

    const after = flow.downstream(marked.length > 0 ? gradients : rowsOf(tape));
    const updates = this.rows.filter((row) => this.assigns[row] && after[row] && !this.layered[row]);
    const inner = this.rows.filter((row) => this.assigns[row] && !after[row] && this.layered[row]); // moving averages, seeds
    const backward = without(marked.length > 0 ? flow.upstream(gradients) : join(flow.upstream(gradients), tape), core);
    const optimizer = training
      ? this.optimizerRows(updates, inner, [core, backward], [...gradients, ...losses])
      : new Uint8Array(role.length);

    this.splitCore(core, training);
    const states = this.rows.filter((row) => this.assigns[row] && !this.layered[row]);
    if (!training) this.give(rowsOf(without(flow.upstream(states), core)), BOOKKEEPING); // initializers, restore
    // A layer's output whose number nothing reads, only its gradient, as in a gradient penalty.
    const outputs = flow.upstream(rowsOf(without(kind('output'), tape)));
    this.give(
      rowsOf(outputs).filter((row) => this.layered[row] && !optimizer[row]),
      FORWARD,
    );
    this.give(rowsOf(backward), BACKWARD);
    this.give(rowsOf(optimizer), OPTIMIZER);
    this.give(rowsOf(flow.upstream(inner)), FORWARD);
    this.give(rowsOf(flow.upstream(this.rows.filter((row) => this.assigns[row] && !role[row]))), METRICS);
    const identity = ops(graph.opTypes, (op) => op === 'Identity');
    this.give(rowsOf(without(flow.upstream(flow.sinks), identity)), METRICS);
    this.give(rowsOf(flow.downstream(this.rows.filter((row) => backward[row] && role[row] === BACKWARD))), BACKWARD); // gradients that nothing reads
    this.giveLeftovers(losses);
    return { role, core };
  }

  private give(rows: readonly number[], role: number): void {
    for (const row of rows) if (!this.role[row]) this.role[row] = role;
  }

  private get roots(): Set<string> {
    const functions = Object.entries(this.graph.functionInfo);
    return new Set(functions.filter(([, { role }]) => role === 'root').map(([name]) => name));
  }

  /** Saving and restoring: upstream of a save, downstream of a restore, and all of functions that do either. */
  private savingRows(): Uint8Array {
    const { graph, flow } = this;
    const saves = ops(graph.opTypes, (op) => op === 'SaveV2' || op === 'MergeV2Checkpoints');
    const restores = ops(graph.opTypes, (op) => op === 'RestoreV2');
    if (!saves.includes(1) && !restores.includes(1)) return new Uint8Array(graph.nodeCount);
    const around = join(flow.upstream(rowsOf(saves)), flow.downstream(rowsOf(restores)));
    const handles = ops(graph.opTypes, (op) => op === 'VarHandleOp');
    const roots = this.roots;
    const inRoot = ops(graph.functions, (name) => roots.has(name));
    const saving = new Set(this.rows.filter((row) => saves[row] || restores[row]).map((row) => graph.functions.codes[row]!));
    return around.map((on, row) => (!inRoot[row] && ((on && !handles[row]) || saving.has(graph.functions.codes[row]!)) ? 1 : 0));
  }

  private tapeRows(): Uint8Array {
    const { names } = this.graph;
    const mask = new Uint8Array(names.length);
    if (!names.whole().includes('gradient')) return mask;
    for (const row of this.rows) if (TAPE.test(names.at(row))) mask[row] = 1;
    return mask;
  }

  /** Nodes of the backward pass that others read. */
  private leavingTape(tape: Uint8Array): number[] {
    const { outStart, outRow } = this.flow;
    return rowsOf(tape).filter((row) => outRow.subarray(outStart[row], outStart[row + 1]).some((next) => !tape[next]));
  }

  private coreRows(training: boolean, losses: readonly number[], tape: Uint8Array): Uint8Array {
    const { flow } = this;
    if (losses.length > 0) return flow.upstream(losses);
    if (!training) {
      const live = flow.downstream(this.fed);
      const ends = this.rows.filter((row) => live[row] && flow.outStart[row] === flow.outStart[row + 1] && !this.saving[row]);
      // Eager code has no inputs, and computes its updates last: its layers are the model.
      return without(flow.upstream(ends.length > 0 ? ends : [...flow.sinks, ...rowsOf(this.layered)]), this.saving);
    }
    const after = flow.downstream(rowsOf(tape));
    const before = new Set<number>();
    for (const row of rowsOf(tape)) {
      for (let i = flow.inStart[row]!; i < flow.inStart[row + 1]!; i++) {
        const source = flow.inRow[i]!;
        if (!after[source] && !this.consts[source]) before.add(source);
      }
    }
    return flow.upstream(before);
  }

  /** The last scalar that depends on weights and has no readers, if no loss was recorded. */
  private lossByShape(core: Uint8Array): number[] {
    const { graph, flow } = this;
    const depends = flow.downstream(this.rows.filter((row) => core[row] && this.reads[row]));
    const ends = this.rows.filter((row) => {
      if (!core[row] || !depends[row] || graph.shapes.at(row) !== 'scalar' || !/^b?float/.test(graph.dtypes.at(row))) return false;
      return !flow.outRow.subarray(flow.outStart[row], flow.outStart[row + 1]).some((next) => core[next]);
    });
    return ends.slice(-1);
  }

  private optimizerRows(
    updates: readonly number[],
    inner: readonly number[],
    others: readonly Uint8Array[],
    anchors: readonly number[],
  ): Uint8Array {
    const { graph, flow } = this;
    const first = without(flow.upstream(updates), ...others);
    const resource = ops(graph.dtypes, (dtype) => dtype === 'resource');
    const handles = new Set(updates.map((row) => flow.firstSource(row)));
    for (const row of rowsOf(first)) if (resource[row]) handles.add(row);
    const data = flow.downstream([...this.fed, ...anchors]);
    const [mine, inside] = [new Set(updates), new Set(inner)];
    // Counters that the step reports are of metrics, such as the number of samples behind a mean loss.
    const results = flow.upstream(flow.sinks);
    const reads = without(this.reads, first, ...others);
    const reported = new Set(this.rows.filter((row) => reads[row] && results[row]).map((row) => flow.firstSource(row)));
    const further = this.rows.filter((row) => {
      if (!this.assigns[row] || mine.has(row) || inside.has(row) || this.layered[row]) return false;
      if (handles.has(flow.firstSource(row))) return true;
      if (reported.has(flow.firstSource(row))) return false;
      return !flow.inRow.subarray(flow.inStart[row]! + 1, flow.inStart[row + 1]).some((source) => data[source]);
    });
    return join(first, without(flow.upstream(further), ...others));
  }

  /** Upstream of the loss: the model, its input, and the loss itself. */
  private splitCore(core: Uint8Array, training: boolean): void {
    const { graph, flow, role } = this;
    let model = this.rows.filter((row) => core[row] && this.layered[row]);
    if (model.length === 0) {
      const readers = new Set<number>();
      for (const row of this.rows) {
        if (!core[row] || !this.reads[row]) continue;
        for (let i = flow.outStart[row]!; i < flow.outStart[row + 1]!; i++) if (core[flow.outRow[i]!]) readers.add(flow.outRow[i]!);
      }
      model = [...readers];
    }
    const ahead = flow.upstream(model);
    const handles = ops(graph.opTypes, (op) => op === 'VarHandleOp');
    const arrays = ops(graph.shapes, (shape) => shape.includes('×'));
    const weighty = flow.downstream(
      this.rows.filter((row) => core[row] && (this.reads[row] || (!training && arrays[row] && (this.consts[row] || handles[row])))),
    );
    const fromFed = flow.downstream(this.fed);
    const fed = new Set(this.fed);
    const argument = ops(graph.opTypes, (op) => op === '_Arg');
    for (const row of this.rows) {
      if (!core[row] || role[row]) continue;
      const own = weighty[row] || !fromFed[row];
      if (fed.has(row) || (argument[row] && fromFed[row] && !weighty[row] && !this.layered[row])) role[row] = INPUT;
      else if (this.layered[row] || (!training && own)) role[row] = FORWARD;
      else if (ahead[row]) role[row] = own ? FORWARD : INPUT;
      else role[row] = training ? LOSS : INPUT;
    }
  }

  private giveLeftovers(losses: readonly number[]): void {
    const { graph, flow, role } = this;
    const gradient = ops(graph.kinds, (kind) => kind === 'gradient');
    const fed = ops(graph.opTypes, (op) => FED.has(op));
    const variant = ops(graph.dtypes, (dtype) => dtype === 'variant');
    const firstLoss = losses.length > 0 ? losses.reduce((a, b) => Math.min(a, b)) : -1;
    for (const row of this.rows) {
      if (role[row]) continue;
      if (this.layered[row] && !gradient[row]) {
        const sources = flow.inRow.subarray(flow.inStart[row], flow.inStart[row + 1]);
        const late = firstLoss >= 0 && row > firstLoss && graph.functions.codes[row] === graph.functions.codes[firstLoss];
        role[row] = late || sources.some((source) => role[source] === BACKWARD) ? BACKWARD : FORWARD;
      } else if (fed[row] || (variant[row] && !flow.callers[row])) role[row] = INPUT;
    }
    for (let row = role.length - 1; row >= 0; row--) {
      if (role[row]) continue;
      const counts = new Int32Array(ROLES.length + 1);
      for (let i = flow.outStart[row]!; i < flow.outStart[row + 1]!; i++) counts[role[flow.outRow[i]!]!]!++;
      counts[0] = 0;
      const most = counts.indexOf(counts.reduce((a, b) => Math.max(a, b)));
      if (most > 0) role[row] = most;
    }
    this.give(this.rows, BOOKKEEPING);
  }
}
