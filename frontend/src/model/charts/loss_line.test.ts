import { expect, test } from 'vitest';
import type { TrainingLogs } from '../wire/answers';
import { lossHeight, lossLine } from './loss_line';

const logs = (more: Partial<TrainingLogs> = {}): TrainingLogs => ({
  tensor: null,
  step: [0, 1, 2, 3, 4],
  epoch: [0, 0, 0, 1, 1],
  values: { loss: [4, 3, 2, 1, 0], learning_rate: [0.1, 0.1, 0.1, 0.01, 0.01] },
  epochs: [],
  ...more,
});

test('the loss stands above the steps, which stand at equal distances', () => {
  const line = lossLine(logs(), [0, 1, 4]);
  expect(line?.loss.map(({ x }) => x)).toEqual([0, 0.5, 0.5 + 1 / 6, 0.5 + 2 / 6, 1]);
  expect(line?.loss.map(({ y }) => y)).toEqual([1, 0.75, 0.5, 0.25, 0]);
  expect(line?.log).toBe(false);
  expect(line?.epochs).toEqual([{ at: 0.5 + 2 / 6, epoch: 1 }]);
  expect(line?.rate).toHaveLength(5);
  expect([line?.low, line?.high, line?.bad]).toEqual([0, 4, null]);
  expect(line?.at(3)).toEqual({ loss: 1, rate: 0.01, epoch: 1 });
  expect(line?.at(-1)).toBeNull();
});

test('a loss over many magnitudes is drawn by its logarithm, and where it is first not finite is marked', () => {
  const line = lossLine(logs({ values: { loss: [1000, 10, 1, Number.NaN, Number.NaN] } }), [0, 1, 2, 3, 4]);
  expect(line?.loss.map(({ y }) => y)).toEqual([1, expect.closeTo(1 / 3), 0]);
  expect(line?.log).toBe(true);
  expect(lossHeight({ low: 1, high: 1000 }, 10), 'on the card of the loss').toBe(line?.loss[1]?.y);
  expect(line?.bad).toBe(0.75);
});

test('a rate that never changes is no line, and without logs there is none', () => {
  expect(lossLine(logs({ values: { loss: [1, 2, 3, 4, 5], learning_rate: [1, 1, 1, 1, 1] } }), [0, 4])?.rate).toEqual([]);
  expect(lossLine(logs({ step: [], epoch: [], values: {} }), [0, 4])).toBeNull();
  expect(lossLine(logs(), [3])).toBeNull();
});
