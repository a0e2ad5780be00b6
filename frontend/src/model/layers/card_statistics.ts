/** Data of a card at one step: its output, gradients and updates of its weights, and non-finite counts. */

import { formatCount, formatNumber } from '../../lib/text/format';
import type { MeasureName } from '../wire/statistics';
import type { StepStatistics } from '../wire/step_statistics';
import type { CardWeight } from './card_weights';
import type { LayerCard, LayerGraph, TensorPlace } from './cards';

/** Measures by which cards can be coloured. */
export const CARD_COLOUR_TITLES = {
  health: 'Health',
  gradientNorm: 'Gradient norm',
  updateRatio: 'Update / weight',
  zeroShare: '% zeros',
  std: 'Std of output',
  absMax: 'Max |x| of output',
  mean: 'Mean of output',
  parameters: 'Parameters',
  class: 'Layer class',
} as const;
export type CardColour = keyof typeof CARD_COLOUR_TITLES;
export const CARD_COLOURS = Object.keys(CARD_COLOUR_TITLES) as CardColour[];

/** Norms, ratios and means over elements that are NaN or infinite are `NONFINITE`; NaN if not captured. */
export interface CardStatistics {
  /** Elements that are NaN, and infinite, in all of its captured tensors. */
  readonly nan: number;
  readonly inf: number;
  /** Tensors with NaN; without any, those with infinities. */
  readonly badTensors: number;
  /** The first of them. */
  readonly worst: TensorPlace | null;
  /** L2 norm of the gradients of all its weights. */
  readonly gradientNorm: number;
  /** L2 norm of the optimizer's updates relative to that of the weights. */
  readonly updateRatio: number;
  /** Of its output. */
  readonly zeroShare: number;
  readonly mean: number;
  readonly std: number;
  readonly absMax: number;
  /** Its shape; empty if the op had several iterations with different shapes. */
  readonly shape: string;
}

export const CARD_MEASURES = ['gradientNorm', 'updateRatio', 'zeroShare', 'std', 'absMax', 'mean'] as const;
export type CardMeasure = (typeof CARD_MEASURES)[number];

const NONE = Number.NaN;
/** The statistics only count finite elements: as the norm of a tensor with others they would look sound. */
export const NONFINITE = Number.POSITIVE_INFINITY;

/** The text of a measure; empty if not captured. */
export function measureText(value: number, digits = 3): string {
  return Number.isNaN(value) ? '' : value === NONFINITE ? 'NaN/Inf' : formatNumber(value, digits);
}

/** `0.1 ± 0.02`; empty if not captured. */
export const meanText = ({ mean, std }: Pick<CardStatistics, 'mean' | 'std'>): string =>
  Number.isNaN(std) ? '' : `${measureText(mean)} ± ${measureText(std)}`;

/** How many NaN, or infinities, it has; ends before the name of the tensor with the first of them. */
export function badText({ nan, inf, badTensors = 1 }: Pick<CardStatistics, 'nan' | 'inf'> & { badTensors?: number }): string {
  const elements = nan > 0 ? `${formatCount(nan)} NaN` : `${formatCount(inf)} Inf`;
  return badTensors > 1 ? `${elements} in ${badTensors} tensors at this step; first:` : `${elements} at this step`;
}

/** `37.5 %`; empty if not captured. */
export const zerosText = ({ zeroShare }: CardStatistics): string =>
  Number.isNaN(zeroShare) ? '' : `${formatNumber(100 * zeroShare, 3)} %`;

export const NOT_CAPTURED: CardStatistics = {
  nan: 0,
  inf: 0,
  badTensors: 0,
  worst: null,
  gradientNorm: NONE,
  updateRatio: NONE,
  zeroShare: NONE,
  mean: NONE,
  std: NONE,
  absMax: NONE,
  shape: '',
};

/** The statistics of all cards at a step. */
export function cardStatistics({ cards, cardOf }: LayerGraph, step: StepStatistics | null): CardStatistics[] {
  if (step === null) return cards.map(() => NOT_CAPTURED);
  const rows = new TensorRows(step, cardOf.length);
  const [zero, size] = [step.column('zero'), step.column('size')];
  const bad = badTensors(cards, cardOf, step);
  return cards.map((card) => {
    let output = rows.of(card.output);
    for (let i = 0; output < 0 && i < card.terms.length; i++) output = rows.of(card.terms[i]!);
    return {
      ...(card.kind === 'loss' ? badOf(step, output) : (bad.get(card.id) ?? FINE)),
      ...(card.weights.length > 0 ? normsOf(card.weights, rows) : NO_NORMS),
      zeroShare: output < 0 || card.kind === 'input' || size[output]! < 2 ? NONE : zero[output]! / size[output]!,
      mean: rows.statistic(output, 'mean'),
      std: rows.statistic(output, 'std'),
      absMax: rows.statistic(output, 'abs_max'),
      shape: output >= 0 && step.visits[output] === 1 ? step.shape.at(output) : '',
    };
  });
}

const NO_NORMS = { gradientNorm: NONE, updateRatio: NONE };

function normsOf(weights: readonly CardWeight[], rows: TensorRows): Pick<CardStatistics, 'gradientNorm' | 'updateRatio'> {
  const [gradients, updates, changed] = [new Squares(rows), new Squares(rows), new Squares(rows)];
  for (const weight of weights) {
    gradients.add(...weight.gradients);
    if (weight.updates.length === 0) continue;
    changed.add(weight.row);
    updates.add(...weight.updates);
  }
  return { gradientNorm: gradients.norm, updateRatio: ratioOf(updates.norm, changed.norm) };
}

/** Of a weight that is all zeros there is none. */
function ratioOf(update: number, weight: number): number {
  if (Number.isNaN(update) || Number.isNaN(weight) || weight === 0) return NONE;
  return weight === NONFINITE ? NONFINITE : update / weight;
}

const isCaptured = (value: number): boolean => !Number.isNaN(value);

/** Several cards as one: norms are combined; other values are those of the last card, whose output leaves the block. */
export function joinStatistics(parts: readonly CardStatistics[], last: CardStatistics | undefined): CardStatistics {
  if (parts.length === 1) return parts[0]!;
  const sum = (pick: (part: CardStatistics) => number): number => parts.reduce((total, part) => total + pick(part), 0);
  const withNan = parts.filter(({ nan }) => nan > 0);
  const bad = withNan.length > 0 ? withNan : parts.filter(({ inf }) => inf > 0);
  const norms = parts.map(({ gradientNorm }) => gradientNorm).filter(isCaptured);
  const ratios = parts.map(({ updateRatio }) => updateRatio).filter(isCaptured);
  const zeros = parts.map(({ zeroShare }) => zeroShare).filter(isCaptured);
  return {
    nan: sum(({ nan }) => nan),
    inf: sum(({ inf }) => inf),
    badTensors: bad.reduce((total, part) => total + part.badTensors, 0),
    worst: bad[0]?.worst ?? null,
    gradientNorm: norms.length > 0 ? Math.hypot(...norms) : NONE,
    updateRatio: ratios.length > 0 ? Math.max(...ratios) : NONE,
    zeroShare: zeros.length > 0 ? Math.max(...zeros) : NONE,
    mean: last?.mean ?? NONE,
    std: last?.std ?? NONE,
    absMax: last?.absMax ?? NONE,
    shape: last?.shape ?? '',
  };
}

/** Finds the row of a tensor in the statistics of a step, and its numbers. */
export class TensorRows {
  /** Of first outputs, by node: nearly all tensors are one. */
  private readonly first: Int32Array;
  private readonly others = new Map<number, number>();

  constructor(
    private readonly step: StepStatistics,
    nodes: number,
  ) {
    const { count, node, slot } = step;
    this.first = new Int32Array(nodes).fill(-1);
    for (let row = 0; row < count; row++) {
      if (slot[row] === 0) this.first[node[row]!] = row;
      else this.others.set(node[row]! * 4096 + slot[row]!, row);
    }
  }

  of({ row, slot }: TensorPlace): number {
    return (slot === 0 ? this.first[row] : this.others.get(row * 4096 + slot)) ?? -1;
  }

  /** A statistic of a row; NaN for -1, `NONFINITE` if some of its elements are not finite. */
  statistic(row: number, name: MeasureName): number {
    if (row < 0) return NONE;
    return badOf(this.step, row).worst ? NONFINITE : this.step.column(name)[row]!;
  }
}

/** The norm of several tensors together. */
class Squares {
  private sum = 0;
  private any = false;

  constructor(private readonly rows: TensorRows) {}

  add(...nodes: readonly number[]): void {
    for (const node of nodes) {
      const row = this.rows.of({ row: node, slot: 0 });
      if (row < 0) continue;
      this.any = true;
      this.sum += this.rows.statistic(row, 'l2') ** 2;
    }
  }

  get norm(): number {
    return this.any ? Math.sqrt(this.sum) : NONE;
  }
}

type Bad = Pick<CardStatistics, 'nan' | 'inf' | 'badTensors' | 'worst'>;

/** Of one tensor: the loss is also a node of another card. */
function badOf(step: StepStatistics, row: number): Bad {
  if (row < 0) return FINE;
  const nan = step.column('nan')[row]! || 0;
  const inf = (step.column('pos_inf')[row]! || 0) + (step.column('neg_inf')[row]! || 0);
  return nan + inf === 0 ? FINE : { nan, inf, badTensors: 1, worst: { row: step.node[row]!, slot: step.slot[row]! } };
}

const FINE: Bad = { nan: 0, inf: 0, badTensors: 0, worst: null };

/** NaN and infinities in the tensors of each card's nodes, and in its gradients and updates, of cards with any. */
function badTensors(cards: readonly LayerCard[], cardOf: Int32Array, step: StepStatistics): Map<number, Bad> {
  const found = new Map<number, Bad>();
  const columns = { nan: step.column('nan'), positive: step.column('pos_inf'), negative: step.column('neg_inf') };
  let weights: Map<number, number[]> | undefined;
  for (let row = 0; row < step.count; row++) {
    const [nans, infs] = [columns.nan[row]! || 0, (columns.positive[row]! || 0) + (columns.negative[row]! || 0)];
    if (nans === 0 && infs === 0) continue;
    weights ??= cardsOfWeights(cards);
    const node = step.node[row]!;
    const own = cardOf[node] ?? -1;
    for (const card of own >= 0 ? [own] : (weights.get(node) ?? [])) {
      const known = found.get(card) ?? FINE;
      const isWorse = known.worst === null || (nans > 0 && known.nan === 0);
      const worst = isWorse ? { row: node, slot: step.slot[row]! } : known.worst;
      const badTensors = isWorse ? 1 : known.badTensors + Number(nans > 0 || known.nan === 0);
      found.set(card, { nan: known.nan + nans, inf: known.inf + infs, badTensors, worst });
    }
  }
  return found;
}

/** The cards with a gradient or an update, by its row. */
function cardsOfWeights(cards: readonly LayerCard[]): Map<number, number[]> {
  const found = new Map<number, number[]>();
  for (const { id, weights } of cards) {
    for (const { gradients, updates } of weights) {
      for (const row of [...gradients, ...updates]) {
        const known = found.get(row);
        if (known) known.push(id);
        else found.set(row, [id]);
      }
    }
  }
  return found;
}
