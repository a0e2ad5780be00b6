import { expect, test } from 'vitest';
import { encodeColumns } from '../../api/encode';
import { decodeNodeTrends, heightOf, placeOfStep } from './node_trends';

const answer = encodeColumns(
  { statistic: 'max' },
  {
    node: Int32Array.of(7, 7, 7, 2),
    step: Float64Array.of(0, 4, 8, 4),
    value: Float64Array.of(1, Number.NaN, 5, 3),
    health: Uint8Array.of(1, 3, 1, 1),
  },
);

test('rows of one node are its trend, with the range of what is finite', () => {
  const trends = decodeNodeTrends(answer);
  expect([...trends.keys()]).toEqual([7, 2]);
  const trend = trends.get(7)!;
  expect([...trend.step]).toEqual([0, 4, 8]);
  expect([...trend.health]).toEqual([1, 3, 1]);
  expect([trend.low, trend.high]).toEqual([1, 5]);
  expect(heightOf(trend, 5)).toBe(1);
  expect(heightOf(trends.get(2)!, 3)).toBe(0.5);
});

test.each([
  [-1, -1],
  [0, 0],
  [3, 0],
  [4, 1],
  [99, 2],
])('step %i lies in place %i', (step, place) => {
  expect(placeOfStep(decodeNodeTrends(answer).get(7)!, step)).toBe(place);
});
