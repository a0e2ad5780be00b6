/** The layers of a graph as cards: which nodes belong to which call of a layer, and the tensors between them. */

import type { GraphData } from '../wire/graph';
import { CardLayers, scopeOfCall } from './card_layers';
import { type CardWeight, WeightRows } from './card_weights';
import type { DataFlow } from './data_flow';
import { FED, guessClass, type OpTest, opTestOf, READS, SHAPE_OPS, signsOf, THIN } from './op_sets';
import { FORWARD, INPUT, LOSS, type StepRoles } from './roles';

export type CardKind = 'layer' | 'op' | 'input' | 'loss';

/** A tensor by the row of its node and its slot. */
export interface TensorPlace {
  readonly row: number;
  readonly slot: number;
}

export interface LayerCard {
  readonly id: number;
  readonly kind: CardKind;
  /** Names of the enclosing layers and its own, outermost first, joined by `/`; for an operator those around it. */
  readonly path: string;
  /** The name scopes opened by this call: `m_1/dense` for the `path` `m/dense`. Unique among layers. */
  readonly scope: string;
  readonly title: string;
  readonly className: string;
  /** Shape and dtype of its output. */
  readonly shape: string;
  readonly output: TensorPlace;
  readonly parameters: number;
  /** Number of this call of the layer, from 0, and number of its calls. */
  readonly call: number;
  readonly calls: number;
  readonly rows: Int32Array;
  readonly weights: readonly CardWeight[];
  /** Cards whose tensors it reads, and those tensors. */
  readonly inputs: ReadonlyMap<number, TensorPlace>;
  /** Of the loss: the scalars from which it is computed, the most likely first, for steps without a captured loss. */
  readonly terms: readonly TensorPlace[];
  /** The op types with which it computes, as a key: equal cards have equal keys. */
  readonly operations: string;
}

export interface LayerGraph {
  readonly cards: readonly LayerCard[];
  /** The card of each row, -1 for none. */
  readonly cardOf: Int32Array;
  /** Whether layers were recorded; if not, cards are name scopes. */
  readonly recorded: boolean;
  /** Classes of recorded layers by path, also of those that are no cards because they contain some. */
  readonly classes: ReadonlyMap<string, string>;
}

interface Draft {
  readonly kind: CardKind;
  readonly path: string;
  readonly scope: string;
  readonly slot: number;
  readonly rows: number[];
  readonly inputs: Map<number, TensorPlace>;
}

/** Longer lists are dropped, because they are unreadable. */
const MOST_CARRIED = 64;
/** Maximum number of scalars that may represent a loss. */
const MOST_TERMS = 32;
const NOTHING: readonly number[] = [];
const CONSTANT = new Set(['Const']);
const ARGUMENT = new Set(['_Arg']);

export function layerGraphOf(graph: GraphData, flow: DataFlow, roles: StepRoles): LayerGraph {
  return new Contraction(graph, flow, roles).run();
}

class Contraction {
  private readonly drafts: Draft[] = [];
  private readonly byKey = new Map<string, number>();
  private readonly cardOf: Int32Array;
  private readonly forward: readonly number[];
  private readonly opIs: OpTest;
  private readonly layers: CardLayers;
  private readonly weightRows: WeightRows;

  constructor(
    private readonly graph: GraphData,
    private readonly flow: DataFlow,
    private readonly roles: StepRoles,
  ) {
    this.cardOf = new Int32Array(graph.nodeCount).fill(-1);
    this.weightRows = new WeightRows(graph);
    this.opIs = opTestOf(graph);
    this.forward = this.forwardRows();
    this.layers = new CardLayers(graph, this.forward, this.opIs);
  }

  run(): LayerGraph {
    this.assignLayers();
    const sources = this.assignInputs();
    this.followData(sources);
    return this.finish();
  }

  private forwardRows(): number[] {
    const rows: number[] = [];
    const { role } = this.roles;
    for (let row = 0; row < role.length; row++) if (role[row] === FORWARD && !this.opIs(row, ARGUMENT)) rows.push(row);
    return rows;
  }

  private draft(key: string, kind: CardKind, path: string, scope: string, slot = 0): number {
    const known = this.byKey.get(key);
    if (known !== undefined) return known;
    this.drafts.push({ kind, path, scope, slot, rows: [], inputs: new Map() });
    this.byKey.set(key, this.drafts.length - 1);
    return this.drafts.length - 1;
  }

  private take(card: number, row: number): void {
    this.cardOf[row] = card;
    this.drafts[card]!.rows.push(row);
  }

  private assignLayers(): void {
    const lost: [number, string][] = [];
    const taken = new Map<string, number[]>();
    // Most nodes are of the same call as the one before: their names begin with its scopes.
    let last = { path: '', begin: '', card: -1, rows: [] as number[] };
    for (const row of this.forward) {
      const path = this.layers.cardPaths[this.layers.layer.codes[row]!] ?? null;
      if (path === null) continue;
      if (path === last.path && last.begin !== '/' && this.graph.names.at(row).startsWith(last.begin)) {
        this.take(last.card, row);
        last.rows.push(row);
        continue;
      }
      const scope = this.layers.scopeAt(row, path);
      if (scope === null) {
        lost.push([row, path]);
        continue;
      }
      const card = this.draft(`layer ${path} ${scope}`, 'layer', path, scope);
      this.take(card, row);
      const rows = taken.get(path) ?? [];
      rows.push(row);
      taken.set(path, rows);
      last = { path, begin: `${scope}/`, card, rows };
    }
    // Casts and masks that Keras creates outside the layer's scope belong to the nearest call of that layer.
    for (const [row, path] of lost) {
      const near = nearest(taken.get(path) ?? [], row);
      this.take(near === null ? this.draft(`layer ${path} `, 'layer', path, '') : this.cardOf[near]!, row);
    }
  }

  /** Cards of inputs, one per output of the feeding node; also of random numbers outside layers, like a GAN's noise. */
  private assignInputs(): Uint8Array {
    const { graph, flow, roles } = this;
    const given = new Uint8Array(graph.nodeCount);
    for (let row = 0; row < graph.nodeCount; row++) {
      const role = roles.role[row];
      if (role !== INPUT && role !== FORWARD) continue;
      const op = graph.opTypes.at(row);
      const dtype = graph.dtypes.at(row);
      const root = flow.inStart[row] === flow.inStart[row + 1];
      const isFed =
        role === INPUT && (this.opIs(row, FED) || (this.opIs(row, ARGUMENT) && root && dtype !== 'resource' && dtype !== 'variant'));
      const isNoise = NOISE.test(op) && this.layers.layer.at(row) === '';
      if (!isFed && !isNoise) continue;
      const slots = isFed ? Math.max(1, graph.slots[row]!) : 1;
      for (let slot = 0; slot < slots; slot++) {
        const card = this.draft(`input ${row} ${slot}`, 'input', graph.names.at(row), '', slot);
        this.take(card, row);
      }
      given[row] = 1;
    }
    return given;
  }

  private inputCard(row: number, slot: number): number {
    return this.byKey.get(`input ${row} ${slot}`) ?? this.cardOf[row]!;
  }

  private followData(given: Uint8Array): void {
    const { graph, flow, roles, cardOf } = this;
    const shapeOps = new Uint8Array(graph.nodeCount);
    for (let row = 0; row < graph.nodeCount; row++) if (this.opIs(row, SHAPE_OPS)) shapeOps[row] = 1;
    const starts: number[] = [];
    for (let row = 0; row < graph.nodeCount; row++)
      if (given[row] || (roles.role[row] === FORWARD && this.opIs(row, READS))) starts.push(row);
    const active = flow.downstream(starts, shapeOps);
    const opaque = graph.dtypes.values.map((dtype) => dtype === 'resource' || dtype === 'bool');
    const carried: (readonly number[])[] = new Array(graph.nodeCount).fill(NOTHING);
    const tensors = new TensorList(graph.nodeCount);
    const flowing = (row: number): readonly number[] => {
      const [start, end] = [flow.inStart[row]!, flow.inStart[row + 1]!];
      let found: number[] = [];
      const take = (one: number): void => {
        if (end - start > MOST_CARRIED || !found.includes(one)) found.push(one);
      };
      for (let i = start; i < end; i++) {
        const [source, slot] = [flow.inRow[i]!, flow.inSlot[i]!];
        if (shapeOps[source] || opaque[graph.dtypes.codes[source]!]) continue;
        if (given[source]) take(tensors.add(this.inputCard(source, slot), source, slot));
        else if (cardOf[source]! >= 0) for (const one of carried[source]!) take(tensors.add(tensors.card(one), source, slot));
        else for (const one of carried[source]!) take(one);
      }
      if (end - start > MOST_CARRIED) found = [...new Set(found)];
      return found;
    };
    const losses: number[] = [];
    for (const row of flow.order()) {
      if (given[row]) continue;
      const role = roles.role[row];
      if (role === LOSS && graph.kinds.at(row) === 'loss') losses.push(row);
      if (role !== FORWARD && role !== INPUT && role !== LOSS) continue;
      const sources = flowing(row);
      let mine = cardOf[row]!;
      if (mine < 0 && role !== LOSS && active[row] && !flow.callers[row] && !shapeOps[row] && !this.opIs(row, THIN))
        mine = this.operator(row, sources, tensors);
      if (mine < 0) {
        carried[row] = sources.length < MOST_CARRIED ? sources : NOTHING;
        continue;
      }
      const { inputs } = this.drafts[mine]!;
      for (const one of sources) {
        const card = tensors.card(one);
        if (card !== mine && !inputs.has(card)) inputs.set(card, tensors.place(one));
      }
      carried[row] = [tensors.add(mine, row, 0)];
    }
    for (const row of losses) {
      const card = this.draft(`loss ${row}`, 'loss', 'loss', '');
      this.drafts[card]!.rows.push(row);
      for (const one of carried[row]!) {
        const { inputs } = this.drafts[card]!;
        if (!inputs.has(tensors.card(one))) inputs.set(tensors.card(one), tensors.place(one));
      }
    }
  }

  /** The card of an op between layers; -1 if it only forwards a layer's output. */
  private operator(row: number, sources: readonly number[], tensors: TensorList): number {
    const cards = new Set(sources.map((one) => tensors.card(one)));
    const all = [...cards];
    const fromLayer = this.roles.role[row] === FORWARD && all.some((card) => this.drafts[card]!.kind !== 'input');
    if (cards.size < 2 && !fromLayer) return -1;
    const only = cards.size === 1 && this.drafts[all[0]!]!.kind === 'op' ? all[0]! : -1;
    const card = only >= 0 ? only : this.draft(`op ${row}`, 'op', this.layers.layer.at(row), this.containerScope(row));
    this.take(card, row);
    return card;
  }

  /** The scopes of the container call around an operator. */
  private containerScope(row: number): string {
    const path = this.layers.layer.at(row);
    return path === '' ? '' : (scopeOfCall(this.graph.names.at(row), path.split('/')) ?? path);
  }

  private finish(): LayerGraph {
    const used = new Set<number>();
    for (const { inputs } of this.drafts) for (const card of inputs.keys()) used.add(card);
    let kept = this.drafts.map((_, id) => id).filter((id) => this.drafts[id]!.inputs.size > 0 || used.has(id));
    if (!this.layers.recorded) kept = kept.filter((id) => !this.isIdle(id));
    const ordered = this.layers.recorded ? this.byCreation(kept) : this.depthFirst(kept);
    const place = new Map(ordered.map((id, i) => [id, i]));
    const calls = new Map<string, number>();
    const total = new Map<string, number>();
    for (const id of ordered)
      if (this.drafts[id]!.kind === 'layer') total.set(this.drafts[id]!.path, (total.get(this.drafts[id]!.path) ?? 0) + 1);
    const handed = this.handedOn(ordered);
    // Views of one array, which the worker's message copies faster than thousands.
    const allRows = Int32Array.from(ordered.flatMap((id) => this.drafts[id]!.rows));
    let end = 0;
    const cards = ordered.map((id, i): LayerCard => {
      const draft = this.drafts[id]!;
      const call = calls.get(draft.path) ?? 0;
      if (draft.kind === 'layer') calls.set(draft.path, call + 1);
      const inputs = new Map<number, TensorPlace>();
      for (const [from, tensor] of draft.inputs) if (place.has(from)) inputs.set(place.get(from)!, tensor);
      end += draft.rows.length;
      const rows = allRows.subarray(end - draft.rows.length, end);
      return { id: i, ...this.describe(draft, rows, handed.get(id)), call, calls: total.get(draft.path) ?? 1, inputs };
    });
    const cardOf = this.cardOf.map((id) => place.get(id) ?? -1);
    const classes = new Map([...this.layers.callOf].map(([path, call]) => [path, call.className]));
    return { cards, cardOf, recorded: this.layers.recorded, classes };
  }

  private describe(draft: Draft, rows: Int32Array, handed: TensorPlace | undefined): Omit<LayerCard, 'id' | 'call' | 'calls' | 'inputs'> {
    const { graph } = this;
    const ops = new Map<string, number>();
    for (const row of rows) {
      if (this.opIs(row, THIN) || this.opIs(row, SHAPE_OPS) || (draft.kind === 'layer' && !this.roles.core[row])) continue;
      const op = graph.opTypes.at(row);
      ops.set(op, (ops.get(op) ?? 0) + 1);
    }
    const weights = this.weightRows.of(rows);
    const call = draft.kind === 'layer' ? this.layers.callOf.get(draft.path) : undefined;
    const own = draft.rows.filter((row) => graph.kinds.at(row) === 'output');
    const output: TensorPlace =
      draft.kind === 'input'
        ? { row: rows[0]!, slot: draft.slot }
        : (handed ?? { row: own[own.length - 1] ?? rows[rows.length - 1]!, slot: 0 });
    const shapes = graph.slotShapes.get(output.row);
    return {
      kind: draft.kind,
      path: draft.path,
      scope: draft.scope,
      title: this.titleOf(draft, ops),
      className: draft.kind !== 'layer' ? '' : (call?.className ?? guessClass(ops)),
      shape: shapes?.[output.slot] ?? (output.slot === 0 ? graph.shapes.at(output.row) : ''),
      output,
      parameters: call?.parameters ?? (draft.kind === 'layer' ? this.countParameters(weights, rows) : 0),
      terms: draft.kind === 'loss' ? this.lossTerms(output.row) : [],
      rows,
      weights,
      operations: [...ops.keys()]
        .filter((op) => op !== 'Const')
        .sort()
        .join(),
    };
  }

  /** Scalars from which the loss is computed: first those with `loss` in their names, then the nearest. */
  private lossTerms(loss: number): TensorPlace[] {
    const { graph, flow, roles } = this;
    const [seen, front, found] = [new Set([loss]), [loss], [] as number[]];
    for (const row of front) {
      for (let i = flow.inStart[row]!; i < flow.inStart[row + 1]!; i++) {
        const source = flow.inRow[i]!;
        if (seen.has(source) || roles.role[source] !== LOSS) continue;
        seen.add(source);
        front.push(source);
        if (graph.shapes.at(source) === 'scalar' && /^b?float|^half/.test(graph.dtypes.at(source))) found.push(source);
      }
    }
    const named = (row: number): number => (/loss/i.test(graph.names.at(row)) ? 0 : 1);
    return found
      .slice(0, MOST_TERMS)
      .sort((a, b) => named(a) - named(b))
      .map((row) => ({ row, slot: 0 }));
  }

  private titleOf(draft: Draft, ops: ReadonlyMap<string, number>): string {
    if (draft.kind === 'op') return signsOf(ops);
    if (draft.kind === 'loss') return 'loss';
    const last = draft.path.slice(draft.path.lastIndexOf('/') + 1);
    if (draft.kind === 'layer') return last;
    const [row] = draft.rows as [number];
    if (NOISE.test(this.graph.opTypes.at(row))) return 'Noise';
    const word = this.inputWord(draft);
    const alike = this.drafts.filter((other) => other.kind === 'input' && other.rows[0] === row && this.inputWord(other) === word);
    return alike.length > 1 ? `${word} ${draft.slot}` : word;
  }

  /** What an input is called on its card: elements of a dataset by what reads them. */
  private inputWord(draft: Draft): string {
    const name = draft.path.slice(draft.path.lastIndexOf('/') + 1);
    if (!FROM_DATASET.test(name)) return name;
    const id = this.drafts.indexOf(draft);
    const readers = this.drafts.filter(({ inputs }) => inputs.has(id));
    return readers.length > 0 && readers.every(({ kind }) => kind === 'loss') ? 'Labels' : 'Input';
  }

  private countParameters(weights: readonly CardWeight[], rows: Int32Array): number {
    const { graph } = this;
    if (weights.length > 0) return weights.reduce((sum, { row, trainable }) => sum + (trainable ? sizeOf(graph.shapes.at(row)) : 0), 0);
    if (this.weightRows.any) return 0; // other reads are seeds and states
    const likely = rows.filter((row) => {
      if (this.opIs(row, READS)) return true;
      const shape = graph.shapes.at(row);
      return this.opIs(row, CONSTANT) && (shape.includes('×') || sizeOf(shape) > 3) && /^(?:b?float|half)/.test(graph.dtypes.at(row));
    });
    return likely.reduce((sum, row) => sum + sizeOf(graph.shapes.at(row)), 0) / this.eagerCalls(rows);
  }

  /** How often eager code called a layer, which reads its weights each time from handles without a node; 1 in functions. */
  private eagerCalls(rows: Int32Array): number {
    const { graph, flow } = this;
    const reads = rows.filter((row) => this.opIs(row, READS));
    if (reads.length === 0 || reads.some((row) => flow.inStart[row] !== flow.inStart[row + 1])) return 1;
    const counts = new Map<string, number>();
    for (const row of rows) {
      const key = this.opIs(row, READS) ? graph.shapes.at(row) : graph.opTypes.at(row);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return [...counts.values()].reduce(greatestCommonDivisor);
  }

  /** The output tensor of each card: the last noted output, else the output used by the first reader. */
  private handedOn(ids: readonly number[]): ReadonlyMap<number, TensorPlace> {
    const found = new Map<number, TensorPlace>();
    for (const id of ids) for (const [from, tensor] of this.drafts[id]!.inputs) if (!found.has(from)) found.set(from, tensor);
    for (const id of ids) {
      const draft = this.drafts[id]!;
      const handed = found.get(id);
      if (draft.kind !== 'layer' || (handed && this.graph.kinds.at(handed.row) === 'output')) continue;
      const outputs = draft.rows.filter((row) => this.graph.kinds.at(row) === 'output');
      // The output that a reader uses; a call that returns one has no choice.
      if (outputs.length === 1 || (outputs.length > 0 && !handed)) found.set(id, { row: outputs[outputs.length - 1]!, slot: 0 });
    }
    return found;
  }

  /** Scopes that only contain constants. */
  private isIdle(id: number): boolean {
    const { kind, inputs, rows } = this.drafts[id]!;
    if (kind !== 'layer' || inputs.size > 0) return false;
    return !rows.some(
      (row) => this.opIs(row, READS) || !(this.opIs(row, THIN) || this.opIs(row, SHAPE_OPS)) || this.graph.shapes.at(row).includes('×'),
    );
  }

  private byCreation(ids: readonly number[]): number[] {
    const first = (id: number): number => {
      const { rows } = this.drafts[id]!;
      const telling = rows.filter((row) => !this.opIs(row, THIN));
      return (telling.length > 0 ? telling : rows).reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
    };
    const at = new Map(ids.map((id) => [id, first(id)]));
    return [...ids].sort((a, b) => at.get(a)! - at.get(b)! || a - b);
  }

  /** In data flow order, branch by branch, if the order of the nodes does not show their order of creation. */
  private depthFirst(ids: readonly number[]): number[] {
    const inside = new Set(ids);
    const used = new Set(ids.flatMap((id) => [...this.drafts[id]!.inputs.keys()]));
    const [ordered, seen] = [[] as number[], new Set<number>()];
    for (const end of [...ids.filter((id) => !used.has(id)), ...ids]) {
      const todo: [number, boolean][] = [[end, false]];
      while (todo.length > 0) {
        const [id, done] = todo.pop()!;
        if (done) ordered.push(id);
        if (done || seen.has(id)) continue;
        seen.add(id);
        todo.push([id, true]);
        for (const from of [...this.drafts[id]!.inputs.keys()].sort((a, b) => a - b))
          if (inside.has(from) && !seen.has(from)) todo.push([from, false]);
      }
    }
    return ordered;
  }
}

/** The tensors between cards, each with a number. */
class TensorList {
  /** Numbers of the first outputs by row, and of further ones by row and slot. */
  private readonly first: Int32Array;
  private readonly further = new Map<string, number>();
  private readonly all: (readonly [number, number, number])[] = [];

  constructor(nodeCount: number) {
    this.first = new Int32Array(nodeCount).fill(-1);
  }

  /** A tensor is of one card. */
  add(card: number, row: number, slot: number): number {
    const known = slot === 0 ? this.first[row]! : (this.further.get(`${row}:${slot}`) ?? -1);
    if (known >= 0) return known;
    const number = this.all.push([card, row, slot]) - 1;
    if (slot === 0) this.first[row] = number;
    else this.further.set(`${row}:${slot}`, number);
    return number;
  }

  card(number: number): number {
    return this.all[number]![0];
  }

  place(number: number): TensorPlace {
    const [, row, slot] = this.all[number]!;
    return { row, slot };
  }
}

/** The closest of ascending rows. */
function nearest(rows: readonly number[], row: number): number | null {
  if (rows.length === 0) return null;
  let [low, high] = [0, rows.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle]! < row) low = middle + 1;
    else high = middle;
  }
  const [after, before] = [rows[low]!, rows[Math.max(0, low - 1)]!];
  return Math.abs(before - row) <= Math.abs(after - row) ? before : after;
}

/** Random numbers drawn outside layers: the input of a generator. */
const NOISE = /Random(?:Standard)?(?:Normal|Uniform)|TruncatedNormal|StandardNormal/;

const FROM_DATASET = /^(?:IteratorGetNext|OptionalGetValue)/;

const greatestCommonDivisor = (a: number, b: number): number => (b === 0 ? a : greatestCommonDivisor(b, a % b));

/** Title of an input. */
export function sizeOf(shape: string): number {
  if (shape === 'scalar') return 1;
  if (shape === '' || shape.includes('?')) return 0;
  return shape.split('×').reduce((size, extent) => size * Number(extent), 1);
}
