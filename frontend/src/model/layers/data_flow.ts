/** The data edges of a graph without calls: a consumer of a call's output reads what the called function returns there. */

import { type GraphData, rowOf } from '../wire/graph';

/** Rows are nodes. A mask has a byte a row. */
export class DataFlow {
  readonly count: number;
  /** The nodes that row `r` reads: `inRow[inStart[r] … inStart[r + 1]]`, and which of their outputs. */
  readonly inStart: Int32Array;
  readonly inRow: Int32Array;
  readonly inSlot: Int32Array;
  /** The nodes that read row `r`. */
  readonly outStart: Int32Array;
  readonly outRow: Int32Array;
  /** 1 for nodes that call a function of the graph. */
  readonly callers: Uint8Array;
  /** Rows that the root functions return. */
  readonly sinks: readonly number[];

  constructor(graph: GraphData) {
    this.count = graph.nodeCount;
    const returns = returnedBy(graph);
    this.callers = returns.callers;
    const [sources, targets, slots] = dissolved(graph, returns);
    [this.inStart, this.inRow, this.inSlot] = group(this.count, targets, sources, slots);
    [this.outStart, this.outRow] = group(this.count, sources, targets, slots);
    this.sinks = sinksOf(graph, returns);
  }

  /** Everything upstream of the rows, including them; stops before `stop` rows. */
  upstream(rows: Iterable<number>, stop?: Uint8Array): Uint8Array {
    return this.reach(rows, this.inStart, this.inRow, stop);
  }

  /** Everything downstream of the rows, including them; does not continue beyond `cut` rows. */
  downstream(rows: Iterable<number>, cut?: Uint8Array): Uint8Array {
    const seen = new Uint8Array(this.count);
    const todo = [...rows];
    while (todo.length > 0) {
      const row = todo.pop()!;
      if (seen[row]) continue;
      seen[row] = 1;
      if (cut?.[row]) continue;
      for (let i = this.outStart[row]!; i < this.outStart[row + 1]!; i++) if (!seen[this.outRow[i]!]) todo.push(this.outRow[i]!);
    }
    return seen;
  }

  private reach(rows: Iterable<number>, start: Int32Array, next: Int32Array, stop?: Uint8Array): Uint8Array {
    const seen = new Uint8Array(this.count);
    const todo = [...rows];
    while (todo.length > 0) {
      const row = todo.pop()!;
      if (seen[row] || stop?.[row]) continue;
      seen[row] = 1;
      for (let i = start[row]!; i < start[row + 1]!; i++) if (!seen[next[i]!]) todo.push(next[i]!);
    }
    return seen;
  }

  /** The rows in data flow order; a cycle is cut at its first row. */
  order(): Int32Array {
    const waiting = new Int32Array(this.count);
    for (let row = 0; row < this.count; row++) waiting[row] = this.inStart[row + 1]! - this.inStart[row]!;
    const order = new Int32Array(this.count);
    const placed = new Uint8Array(this.count);
    let [done, ready, stuck] = [0, 0, 0];
    const place = (row: number): void => {
      placed[row] = 1;
      order[done++] = row;
    };
    for (let row = 0; row < this.count; row++) if (waiting[row] === 0) place(row);
    while (done < this.count || ready < done) {
      if (ready === done) {
        while (placed[stuck]) stuck++;
        place(stuck);
      }
      const row = order[ready++]!;
      for (let i = this.outStart[row]!; i < this.outStart[row + 1]!; i++) {
        const next = this.outRow[i]!;
        if (--waiting[next]! === 0 && !placed[next]) place(next);
      }
    }
    return order;
  }

  /** The first input, then its first input, as far as possible: of an assignment, the variable's handle. */
  firstSource(row: number): number {
    let at = row;
    for (let i = 0; i < 50 && this.inStart[at] !== this.inStart[at + 1]; i++) at = this.inRow[this.inStart[at]!]!;
    return at;
  }
}

interface Returns {
  readonly callers: Uint8Array;
  /** By calling row: rows and slots of what each function that it calls returns. */
  readonly of: ReadonlyMap<number, readonly (readonly number[])[]>;
}

function returnedBy(graph: GraphData): Returns {
  const callers = new Uint8Array(graph.nodeCount);
  const of = new Map<number, number[][]>();
  for (const { caller, role, returns } of Object.values(graph.functionInfo)) {
    const row = caller === null ? -1 : rowOf(graph, caller);
    if (row < 0) continue;
    callers[row] = 1;
    if (role === 'cond') continue;
    const known = of.get(row);
    if (known) known.push([...(returns ?? [])]);
    else of.set(row, [[...(returns ?? [])]]);
  }
  return { callers, of };
}

/** Functions may be recursive. */
const MOST_CALLS = 50;

function resolve(row: number, slot: number, { of }: Returns): number[] {
  if (!of.has(row)) return [row, slot];
  const found: number[] = [];
  const todo = [row, slot];
  for (let seen = 0; todo.length > 0; seen++) {
    const at = todo.pop()!;
    const node = todo.pop()!;
    const functions = seen < MOST_CALLS ? of.get(node) : undefined;
    const inside = functions?.filter((returns) => 2 * at + 1 < returns.length && returns[2 * at]! >= 0) ?? [];
    if (inside.length === 0) found.push(node, at);
    for (const returns of inside) todo.push(returns[2 * at]!, returns[2 * at + 1]!);
  }
  return found;
}

function dissolved(graph: GraphData, returns: Returns): [number[], number[], number[]] {
  const { source, target, slot, input, control } = graph.edges;
  const [sources, targets, slots]: [number[], number[], number[]] = [[], [], []];
  for (let edge = 0; edge < source.length; edge++) {
    if (control[edge] || input[edge]! < 0) continue;
    if (!returns.callers[source[edge]!]) {
      sources.push(source[edge]!);
      targets.push(target[edge]!);
      slots.push(slot[edge]!);
      continue;
    }
    const real = resolve(source[edge]!, slot[edge]!, returns);
    for (let i = 0; i < real.length; i += 2) {
      sources.push(real[i]!);
      targets.push(target[edge]!);
      slots.push(real[i + 1]!);
    }
  }
  return [sources, targets, slots];
}

/** Compressed rows: the partners of each row in edge order. */
function group(
  count: number,
  by: readonly number[],
  partner: readonly number[],
  slot: readonly number[],
): [Int32Array, Int32Array, Int32Array] {
  const start = new Int32Array(count + 1);
  for (let i = 0; i < by.length; i++) start[by[i]! + 1]!++;
  for (let row = 0; row < count; row++) start[row + 1]! += start[row]!;
  const next = start.slice();
  const [rows, slots] = [new Int32Array(by.length), new Int32Array(by.length)];
  for (let i = 0; i < by.length; i++) {
    const at = next[by[i]!]!++;
    rows[at] = partner[i]!;
    slots[at] = slot[i]!;
  }
  return [start, rows, slots];
}

function sinksOf(graph: GraphData, returns: Returns): number[] {
  const sinks = new Set<number>();
  for (const { role, returns: tensors } of Object.values(graph.functionInfo)) {
    if (role !== 'root' || !tensors) continue;
    for (let i = 0; i < tensors.length; i += 2) {
      if (tensors[i]! < 0) continue;
      const real = resolve(tensors[i]!, tensors[i + 1]!, returns);
      for (let k = 0; k < real.length; k += 2) sinks.add(real[k]!);
    }
  }
  return [...sinks];
}
