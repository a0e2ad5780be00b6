import type { Layout, Trace } from '../../lib/plotly';
import { type ChartUnit, chartUnit, countTick, logTicks, type SignedLog, signedLog, unitTitle } from '../../model/charts/axes';
import { alone, drawnOrder, type HistorySeries, inOrder, outline, type QuantileSeries } from '../../model/charts/history_series';
import { axis, baseLayout, type ChartColours, caption, faded, stepAxis, stepLine } from './chart_theme';

/** Content of the first chart: exact extremes and mean, or quantiles from the histograms. */
export type Spread = { kind: 'spread' } | { kind: 'quantiles'; quantiles: QuantileSeries };

/** Mapping of values to axes: the unit, and symlog or (null) linear. */
interface SpreadScale {
  unit: ChartUnit;
  log: SignedLog | null;
  /** Ticks of a logarithmic axis of std and max |x|. */
  sizes: readonly Tick[];
}

interface Tick {
  at: number;
  label: string;
}

const ticksAt = (ticks: readonly Tick[]) => ({ tickvals: ticks.map(({ at }) => at), ticktext: ticks.map(({ label }) => label) });

export function spreadScale(series: HistorySeries, log: boolean): SpreadScale {
  const columns = [series.min, series.max, series.mean];
  const unit = chartUnit([...columns, series.std]);
  const inUnits = (shown: readonly number[][]) => shown.map((column) => column.map(unit.at));
  return { unit, log: log ? signedLog(inUnits(columns)) : null, sizes: logTicks(inUnits([series.std, series.absMax])) };
}

/** The history of a tensor as three charts with a common step axis: spread, magnitude, and shares of special values. */
export function historyTraces(series: HistorySeries, spread: Spread, scale: SpreadScale, colours: ChartColours): Trace[] {
  const line = lineOf(series.step);
  const sizes = lineOf(series.step, { ...scale, log: null }); // Plotly's own logarithms: none is negative
  return [
    ...(spread.kind === 'spread' ? extremes(series, scale, colours) : quantiles(series, spread.quantiles, scale, colours)),
    sizes('std', series.std, colours.accent, { yaxis: 'y2' }),
    sizes('max |x|', series.absMax, colours['text-2'], { yaxis: 'y2', line: { width: 1.6, color: colours['text-2'], dash: 'dash' } }),
    line('% zeros', series.zeros, colours['text-3'], { yaxis: 'y3', hovertemplate: '%{y:.3~g} %<extra>zeros</extra>' }),
    bars('NaN', series.step, series.nan, colours.nan),
    bars('Inf', series.step, series.inf, colours.inf),
  ];
}

/** As `lineOf`, for the bounds of a band. */
function edgeOf(step: number[], scale: SpreadScale, { accent }: ChartColours) {
  const line = lineOf(step, scale);
  return (name: string, y: number[]) => line(name, y, accent, { line: { width: 1, color: faded(accent, 0.55) } }, false);
}

function extremes(series: HistorySeries, scale: SpreadScale, colours: ChartColours): Trace[] {
  const [line, edge] = [lineOf(series.step, scale), edgeOf(series.step, scale, colours)];
  return [
    band(series.step, series.min, series.max, 0.12, scale, colours),
    band(series.step, series.lower, series.upper, 0.22, scale, colours),
    edge('max', series.max),
    line('mean', series.mean, colours.accent),
    edge('min', series.min),
  ];
}

function quantiles(series: HistorySeries, found: QuantileSeries, scale: SpreadScale, colours: ChartColours): Trace[] {
  const [line, edge] = [lineOf(found.step, scale), edgeOf(found.step, scale, colours)];
  const outer = edgeOf(series.step, scale, colours);
  return [
    band(found.step, found.p5, found.p95, 0.14, scale, colours),
    band(found.step, found.p25, found.p75, 0.28, scale, colours),
    outer('max', series.max),
    edge('95 %', found.p95),
    edge('75 %', found.p75),
    line('median', found.median, colours.accent),
    edge('25 %', found.p25),
    edge('5 %', found.p5),
    outer('min', series.min),
  ];
}

function placed(values: readonly number[], { unit, log }: SpreadScale): number[] {
  return values.map((value) => (log ? log.at(unit.at(value)) : unit.at(value)));
}

function band(step: number[], low: number[], high: number[], opacity: number, scale: SpreadScale, colours: ChartColours): Trace {
  const order = drawnOrder(step);
  const [lower, upper] = [low, high].map((column) => inOrder(order, placed(column, scale))) as [number[], number[]];
  return {
    ...outline(inOrder(order, step), lower, upper),
    mode: 'lines',
    line: { width: 0 },
    hoverinfo: 'skip',
    yaxis: 'y',
    fill: 'toself',
    fillcolor: faded(colours.accent, opacity),
  };
}

/** On the axes of shares and counts. */
const AS_THEY_ARE: SpreadScale = { unit: chartUnit([]), log: null, sizes: [] };

/** Lines over steps; hovering shows the number itself, for any scale. */
function lineOf(step: number[], scale: SpreadScale = AS_THEY_ARE) {
  return (name: string, y: number[], colour: string, more: Trace = {}, dots = hasDots(step)): Trace => ({
    ...course(step, placed(y, scale), y, colour, dots),
    name,
    line: { width: 1.6, color: colour },
    hovertemplate: `%{customdata:.4~g}<extra>${name}</extra>`,
    ...more,
  });
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

/** Legend by stroke of each line. */
const SIZES = '— std, - - max |x|';

export const NOTHING_FINITE = 'no finite elements in these steps';

interface HistoryLayoutOptions {
  step: number | null;
  log: boolean;
  scale: SpreadScale;
  spread: Spread['kind'];
  /** Whether any element is finite; without one there is no axis. */
  finite: boolean;
  /** Highest count of NaN and Inf; without any, there is no axis of counts. */
  bad: number;
}

export function historyLayout(colours: ChartColours, { step, log, scale, spread, finite, bad }: HistoryLayoutOptions): Layout {
  const statistics = spread === 'spread' ? 'min, mean ± std, max' : 'min, 5, 25, 50, 75, 95 %, max';
  return {
    ...baseLayout(colours),
    hovermode: 'x',
    hoversubplots: 'axis',
    barmode: 'stack',
    bargap: 0,
    margin: { l: 52, r: bad > 0 ? 44 : 14, t: 20, b: 36 },
    xaxis: stepAxis(colours, { anchor: 'y3' }),
    yaxis: axis(colours, {
      domain: [0.56, 1],
      visible: finite,
      fixedrange: true,
      tickformat: '~g',
      ...(scale.log && ticksAt(scale.log.ticks)),
    }),
    yaxis2: axis(colours, {
      domain: [0.27, 0.49],
      visible: finite,
      fixedrange: true,
      tickformat: '~g',
      nticks: 5,
      ...(log && { type: 'log', ...ticksAt(scale.sizes) }),
    }),
    yaxis3: axis(colours, {
      domain: [0, 0.2],
      fixedrange: true,
      rangemode: 'tozero',
      nticks: 4,
      ticksuffix: ' %',
      autorangeoptions: { include: [0, 5] },
    }),
    yaxis4: {
      overlaying: 'y3',
      side: 'right',
      fixedrange: true,
      rangemode: 'tozero',
      showgrid: false,
      tickmode: 'linear',
      tick0: 0,
      dtick: countTick(bad),
      visible: bad > 0,
      color: colours.nan,
      tickformat: '~s',
    },
    shapes: step === null ? [] : [stepLine(colours, step)],
    annotations: [
      caption(colours, 1, finite ? unitTitle(statistics, scale.unit) : `${statistics}: ${NOTHING_FINITE}`),
      caption(colours, 0.49, unitTitle(log ? `${SIZES} (log)` : SIZES, scale.unit)),
      caption(colours, 0.2, bad > 0 ? '% zeros, NaN and Inf (right)' : '% zeros'),
    ],
  };
}

/** With fewer steps than this, each has a dot. */
const FEW_STEPS = 40;

export const hasDots = (steps: readonly number[]) => steps.length < FEW_STEPS;

/**
 * A line over steps with gaps at missing steps; isolated points are dots. @param y drawn positions. values: for hovering. dots: at every
 * step
 */
export function course(steps: readonly number[], y: readonly number[], values: readonly number[], colour: string, dots: boolean): Trace {
  const order = drawnOrder(steps);
  const drawn = inOrder(order, y);
  const lonely = alone(drawn);
  return {
    x: inOrder(order, steps),
    y: drawn,
    customdata: inOrder(order, values),
    mode: dots || lonely.includes(true) ? 'lines+markers' : 'lines',
    marker: { size: dots ? 4 : lonely.map((shown) => (shown ? 4 : 0)), color: colour },
  };
}
