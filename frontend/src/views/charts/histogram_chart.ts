import type { Layout, Trace } from '../../lib/plotly';
import { formatCount } from '../../lib/text/format';
import { barHeights, type HistogramAxis } from '../../model/charts/histogram_axis';
import { ridgeExtent, ridges, stepOutline } from '../../model/charts/histogram_shapes';
import type { HistogramRow } from '../../model/wire/answers';
import { axis, baseLayout, type ChartColours, faded } from './chart_theme';

/** The value axis, with custom ticks if it is not linear. */
export function valueAxis(colours: ChartColours, values: HistogramAxis, more: Layout = {}): Layout {
  const span = [values.at[0], values.at[values.at.length - 1]];
  const ticks =
    values.scale === 'linear'
      ? { tickformat: '~g' }
      : { tickvals: values.ticks.map((tick) => tick.at), ticktext: values.ticks.map((tick) => tick.label) };
  const title = values.scale === 'linear' ? `value ${values.unit}`.trim() : 'value (log scale on both sides of 0)';
  return axis(colours, { range: span, tickangle: 0, title: { text: title, standoff: 4 }, ...ticks, ...more });
}

/** The axis of a bar's height (see `barHeights`). */
export function heightAxis(colours: ChartColours, { scale }: HistogramAxis, more: Layout = {}): Layout {
  const title = scale === 'linear' ? 'elements' : 'elements per octave';
  return axis(colours, { title: { text: title, standoff: 4 }, tickformat: '~s', ...more });
}

/** Stripes where empty decades are cut out of the value axis. */
export function breakShapes({ breaks }: HistogramAxis, colours: ChartColours): Layout[] {
  const line = { color: colours['text-3'], width: 1, dash: 'dot' };
  return breaks.flatMap(({ from, to }) =>
    [from, to].map((x) => ({ type: 'line', xref: 'x', yref: 'paper', x0: x, x1: x, y0: 0, y1: 1, line })),
  );
}

/** Histograms of the steps as a ridgeline; the current step in the accent colour, in front. */
export function ridgelineTraces(rows: HistogramRow[], values: HistogramAxis, step: number | null, colours: ChartColours): Trace[] {
  const behind = ridges(rows, values);
  const shown = behind.filter((ridge) => ridge.step === step);
  return [...behind.filter((ridge) => ridge.step !== step), ...shown].map((ridge) => {
    const current = ridge.step === step;
    return {
      x: ridge.x,
      y: ridge.y,
      mode: 'lines',
      fill: 'toself',
      fillcolor: current ? faded(colours.accent, 0.75) : faded(colours.surface, 0.92),
      line: { width: current ? 1.5 : 1, color: current ? colours.accent : faded(colours.accent, 0.6) },
      hoveron: 'fills',
      hoverinfo: 'text',
      text: `step ${ridge.step}`,
      name: String(ridge.step),
    };
  });
}

export function ridgelineLayout(rows: HistogramRow[], values: HistogramAxis, colours: ChartColours): Layout {
  const count = rows.length;
  const every = Math.max(1, Math.ceil(count / 8));
  const labelled = rows
    .map((row, i) => ({ at: count - 1 - i, label: String(row.step) }))
    .filter((_, i) => i % every === 0 || i === count - 1);
  return {
    ...baseLayout(colours),
    hovermode: 'closest',
    xaxis: valueAxis(colours, values),
    shapes: breakShapes(values, colours),
    yaxis: axis(colours, {
      title: { text: 'step', standoff: 4 },
      range: ridgeExtent(count),
      tickvals: labelled.map((tick) => tick.at),
      ticktext: labelled.map((tick) => tick.label),
      showgrid: false,
      zeroline: false,
    }),
  };
}

/** One step's histogram as bars, with the outline of another step behind it for comparison. */
export function singleTraces(
  row: HistogramRow,
  other: HistogramRow | null,
  values: HistogramAxis,
  labels: string[],
  colours: ChartColours,
): Trace[] {
  const middles = row.counts.map((_, i) => ((values.at[i] as number) + (values.at[i + 1] as number)) / 2);
  const widths = row.counts.map((_, i) => (values.at[i + 1] as number) - (values.at[i] as number));
  const bars: Trace = {
    type: 'bar',
    x: middles,
    y: barHeights(row.counts, values),
    width: widths,
    customdata: row.counts.map((count, i) => `${labels[i]}<br>${formatCount(Number(count.toPrecision(6)))} elements`),
    marker: { color: faded(colours.accent, 0.75), line: { width: 0.5, color: colours.surface } },
    hovertemplate: '%{customdata}<extra></extra>',
  };
  if (!other) return [bars];
  const shape = stepOutline(values, other.counts);
  return [bars, { ...shape, mode: 'lines', line: { width: 1.2, color: colours['text-2'] }, hoverinfo: 'skip' }];
}

export function singleLayout(values: HistogramAxis, colours: ChartColours): Layout {
  return {
    ...baseLayout(colours),
    bargap: 0,
    hovermode: 'closest',
    xaxis: valueAxis(colours, values),
    shapes: breakShapes(values, colours),
    yaxis: heightAxis(colours, values, { rangemode: 'tozero' }),
  };
}

/** Axes for a heatmap on a canvas below: steps across (one position each), values upwards. */
export function heatmapLayout(rows: HistogramRow[], values: HistogramAxis, index: number, colours: ChartColours): Layout {
  const every = Math.max(1, Math.ceil(rows.length / 7));
  const labelled = rows.map((row, i) => ({ at: i, label: String(row.step) })).filter((_, i) => i % every === 0);
  const frame = {
    type: 'rect',
    xref: 'x',
    yref: 'paper',
    x0: index - 0.5,
    x1: index + 0.5,
    y0: 0,
    y1: 1,
    line: { color: colours.accent, width: 1.5 },
  };
  return {
    ...baseLayout(colours),
    hovermode: false,
    xaxis: axis(colours, {
      range: [-0.5, rows.length - 0.5],
      tickvals: labelled.map((t) => t.at),
      ticktext: labelled.map((t) => t.label),
      title: { text: 'step', standoff: 6 },
      showgrid: false,
      zeroline: false,
    }),
    yaxis: valueAxis(colours, values, { showgrid: false, zeroline: false }),
    margin: { l: 56, r: 12, t: 8, b: 40 },
    shapes: index < 0 ? [] : [frame],
  };
}
