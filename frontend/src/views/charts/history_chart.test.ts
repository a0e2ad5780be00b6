import { expect, test } from 'vitest';
import type { HistorySeries } from '../../model/charts/history_series';
import type { ChartColours } from './chart_theme';
import { historyLayout, historyTraces, NOTHING_FINITE, spreadScale } from './history_chart';

const STEPS = [0, 1, 2, 3, 200, 201, 400];
const GAP = Number.NaN;
const COLOURS = new Proxy({}, { get: () => '#123456' }) as ChartColours;
const LINES = ['min', 'max', 'mean', 'lower', 'upper', 'std', 'absMax', 'l2', 'zeros', 'nan', 'inf'] as const;
const SERIES = {
  step: STEPS,
  ...Object.fromEntries(LINES.map((name) => [name, STEPS.map((step) => step + 1)])),
} as unknown as HistorySeries;
const SCALE = spreadScale(SERIES, false);
const TRACES = historyTraces(SERIES, { kind: 'spread' }, SCALE, COLOURS);
const named = (name: string) => TRACES.find((trace) => trace.name === name) ?? {};

test('lines and bands end where steps are missing, and a step between two gaps is a dot', () => {
  expect(named('mean').x).toEqual([0, 1, 2, 3, GAP, 200, 201, GAP, 400]);
  expect(named('max')).toMatchObject({ y: [1, 2, 3, 4, GAP, 201, 202, GAP, 401], mode: 'lines+markers' });
  expect(named('max').marker).toMatchObject({ size: [0, 0, 0, 0, 0, 0, 0, 0, 4] });
  expect(TRACES[0]).toMatchObject({ fill: 'toself', x: [0, 1, 2, 3, 3, 2, 1, 0, GAP, 200, 201, 201, 200, GAP] });
});

const OPTIONS = { step: 0, log: false, scale: SCALE, spread: 'spread', finite: true, bad: 1 } as const;

test('std and max |x| have a stroke each, and counts have whole ticks', () => {
  expect(named('std').line).not.toHaveProperty('dash');
  expect(named('max |x|').line).toHaveProperty('dash', 'dash');
  expect(historyLayout(COLOURS, OPTIONS).yaxis4).toMatchObject({ tickmode: 'linear', tick0: 0, dtick: 1 });
});

test('where nothing is finite, words stand in place of made-up axes', () => {
  const captions = (finite: boolean) => JSON.stringify(historyLayout(COLOURS, { ...OPTIONS, finite }).annotations);
  expect(captions(false)).toContain(NOTHING_FINITE);
  expect(captions(true)).not.toContain(NOTHING_FINITE);
  const { yaxis, yaxis2, yaxis4 } = historyLayout(COLOURS, { ...OPTIONS, finite: false });
  expect([yaxis, yaxis2, yaxis4]).toMatchObject([{ visible: false }, { visible: false }, { visible: true }]);
});
