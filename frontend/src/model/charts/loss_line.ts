/** Loss and learning rate as lines above the step slider. */

import type { TrainingLogs } from '../wire/answers';

export interface LossLine {
  /** Name of the drawn metric: `loss`, another one that the program logs, or the captured loss tensor. */
  readonly name: string;
  readonly tensor: string | null;
  readonly loss: readonly Point[];
  readonly rate: readonly Point[];
  /** Where epochs begin, except the first: shares of the width. */
  readonly epochs: readonly { at: number; epoch: number }[];
  /** Where the loss is first not finite; null if it always is. */
  readonly bad: number | null;
  readonly low: number;
  readonly high: number;
  /** Whether the scale of the loss is logarithmic. */
  readonly log: boolean;
  /** The last logged values at or before a step. */
  at(step: number): { loss: number; rate: number; epoch: number } | null;
}

/** Shares of the width and the height, from 0 to 1. */
interface Point {
  readonly x: number;
  readonly y: number;
}

/** A loss that falls by more than this factor is drawn logarithmically. */
const LOG_FROM = 30;

/** Null if there is nothing to draw. `steps`: those of the slider, at equal distances. */
export function lossLine({ tensor, step, epoch, values, epochs }: TrainingLogs, steps: readonly number[]): LossLine | null {
  const name = 'loss' in values ? 'loss' : (Object.keys(values).find((one) => one !== 'learning_rate') ?? '');
  const [loss, rate] = [values[name] ?? [], values.learning_rate ?? []];
  if (step.length < 2 || steps.length < 2 || loss.length === 0) return null;
  const inView = step.map((one) => one >= steps[0]! && one <= steps.at(-1)!);
  const finite = loss.filter((value, i) => inView[i] && Number.isFinite(value));
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  const line = (column: readonly number[]): Point[] => {
    const shown = column.map((value, i) => (inView[i] && Number.isFinite(value) ? value : Number.NaN));
    const values = shown.filter(Number.isFinite);
    const range = { low: Math.min(...values), high: Math.max(...values) };
    return shown.flatMap((value, i) => (Number.isNaN(value) ? [] : [{ x: placeOf(step[i]!, steps), y: lossHeight(range, value) }]));
  };
  const bad = loss.findIndex((value, i) => inView[i] && !Number.isFinite(value));
  const begins = epoch.flatMap((one, i) =>
    i > 0 && one !== epoch[i - 1] && inView[i] ? [{ at: placeOf(step[i]!, steps), epoch: one }] : [],
  );
  return {
    name,
    tensor,
    loss: line(loss),
    rate: new Set(rate.filter(Number.isFinite)).size > 1 ? line(rate) : [],
    epochs: begins.length > 0 || epochs.length === 0 ? begins : [],
    bad: bad < 0 ? null : placeOf(step[bad]!, steps),
    low,
    high,
    log: isLogarithmic({ low, high }),
    at: (asked) => {
      const i = step.findLastIndex((one) => one <= asked);
      return i < 0 ? null : { loss: loss[i] ?? Number.NaN, rate: rate[i] ?? Number.NaN, epoch: epoch[i] ?? 0 };
    },
  };
}

interface Range {
  readonly low: number;
  readonly high: number;
}

const isLogarithmic = ({ low, high }: Range): boolean => low > 0 && high / low > LOG_FROM;

/** A loss as a share of the height, the lowest at 0: one scale for the step bar and the card of the loss. */
export function lossHeight(range: Range, value: number): number {
  const { low, high } = range;
  if (!(high > low)) return 0.5;
  return isLogarithmic(range) ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
}

/** Position of a step between those of the slider. */
function placeOf(step: number, steps: readonly number[]): number {
  let after = 0;
  let end = steps.length;
  while (after < end) {
    const middle = (after + end) >> 1;
    if (steps[middle]! < step) after = middle + 1;
    else end = middle;
  }
  const last = steps.length - 1;
  if (after === 0) return 0;
  if (after > last) return 1;
  const [left, right] = [steps[after - 1]!, steps[after]!];
  return (after - 1 + (step - left) / (right - left)) / last;
}
