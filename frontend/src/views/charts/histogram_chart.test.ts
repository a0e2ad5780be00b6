import { expect, test } from 'vitest';
import { histogramAxis } from '../../model/charts/histogram_axis';
import type { HistogramRow } from '../../model/wire/answers';
import type { ChartColours } from './chart_theme';
import { ridgelineTraces } from './histogram_chart';

test('no row of a ridgeline cuts the current step', () => {
  const rows = [1, 2, 3].map((step) => ({ step, visit: 0, counts: [step] })) as unknown as HistogramRow[];
  const traces = ridgelineTraces(rows, histogramAxis({ edges: [1, 2], zero_bucket: null }, 'symlog'), 2, {
    accent: '#000000',
    surface: '#ffffff',
  } as ChartColours);
  expect(traces.map(({ name }) => name)).toEqual(['1', '3', '2']);
});
