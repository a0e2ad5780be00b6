import type { Layout, Trace } from '../../lib/plotly';
import type { HistorySeries } from '../../model/history_series';
import { axis, baseLayout, faded, type Palette, stepLine } from './theme';

/** The history of a tensor as three charts above each other over one step axis: spread, magnitude, and shares of special values. */
export function historyTraces(series: HistorySeries, colours: Palette): Trace[] {
  const band = (low: number[], high: number[], opacity: number): Trace[] => [
    { x: series.step, y: low, mode: 'lines', line: { width: 0 }, hoverinfo: 'skip', yaxis: 'y' },
    {
      x: series.step,
      y: high,
      mode: 'lines',
      line: { width: 0 },
      fill: 'tonexty',
      fillcolor: faded(colours.accent, opacity),
      hoverinfo: 'skip',
      yaxis: 'y',
    },
  ];
  const line = (name: string, y: number[], colour: string, more: Trace = {}): Trace => ({
    x: series.step,
    y,
    name,
    mode: series.step.length < 40 ? 'lines+markers' : 'lines',
    marker: { size: 4, color: colour },
    line: { width: 1.6, color: colour },
    hovertemplate: `%{y:.4~g}<extra>${name}</extra>`,
    ...more,
  });
  const thin = { line: { width: 1, color: faded(colours.accent, 0.55) }, mode: 'lines' };
  return [
    ...band(series.min, series.max, 0.12),
    ...band(series.lower, series.upper, 0.22),
    line('max', series.max, colours.accent, thin),
    line('mean', series.mean, colours.accent),
    line('min', series.min, colours.accent, thin),
    line('std', series.std, colours.accent, { yaxis: 'y2' }),
    line('abs max', series.absMax, colours['text-2'], { yaxis: 'y2' }),
    line('zeros %', series.zeros, colours['text-3'], { yaxis: 'y3', hovertemplate: '%{y:.3~g} %<extra>zeros</extra>' }),
    bars('NaN', series.step, series.nan, colours.nan),
    bars('Inf', series.step, series.inf, colours.inf),
  ];
}

/** Counts of bad elements; steps without any draw nothing. */
function bars(name: string, step: number[], count: number[], colour: string): Trace {
  const shown = count.map((value) => (value > 0 ? value : null));
  return {
    x: step,
    y: shown,
    name,
    type: 'bar',
    yaxis: 'y4',
    marker: { color: colour, line: { width: 0 } },
    hovertemplate: `%{y:,}<extra>${name}</extra>`,
  };
}

export interface HistoryLayoutOptions {
  step: number | null;
  log: boolean;
  /** Highest count of NaN and Inf; the axis of counts is left out where there are none. */
  bad: number;
}

export function historyLayout(colours: Palette, { step, log, bad }: HistoryLayoutOptions): Layout {
  return {
    ...baseLayout(colours),
    hovermode: 'x',
    hoversubplots: 'axis',
    barmode: 'stack',
    bargap: 0,
    margin: { l: 52, r: bad > 0 ? 44 : 14, t: 20, b: 36 },
    xaxis: axis(colours, {
      title: { text: 'step', standoff: 6 },
      anchor: 'y3',
      showspikes: true,
      spikemode: 'across',
      spikethickness: 1,
      spikedash: 'solid',
      spikecolor: colours['text-3'],
    }),
    yaxis: axis(colours, { domain: [0.56, 1], tickformat: '~g' }),
    yaxis2: axis(colours, { domain: [0.27, 0.49], tickformat: '~g', type: log ? 'log' : 'linear', nticks: 5, exponentformat: 'e' }),
    yaxis3: axis(colours, { domain: [0, 0.2], rangemode: 'tozero', nticks: 4, ticksuffix: ' %', autorangeoptions: { include: [0, 5] } }),
    yaxis4: {
      overlaying: 'y3',
      side: 'right',
      rangemode: 'tozero',
      showgrid: false,
      nticks: 4,
      visible: bad > 0,
      tickmode: 'auto',
      color: colours.nan,
      tickformat: '~s',
    },
    shapes: step === null ? [] : [stepLine(colours, step)],
    annotations: [
      caption(colours, 1, 'min, mean ± std, max'),
      caption(colours, 0.49, log ? 'std and abs max (log)' : 'std and abs max'),
      caption(colours, 0.2, bad > 0 ? 'zeros %, NaN and Inf (right)' : 'zeros %'),
    ],
  };
}

function caption(colours: Palette, y: number, text: string): Layout {
  return {
    text,
    x: 0,
    y,
    xref: 'paper',
    yref: 'paper',
    xanchor: 'left',
    yanchor: 'bottom',
    showarrow: false,
    font: { size: 11, color: colours['text-3'] },
  };
}
