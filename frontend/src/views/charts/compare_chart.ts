import type { Layout, Trace } from '../../lib/plotly';
import { type ChartUnit, chartUnit, type SignedLog, signedLog, unitTitle } from '../../model/charts/axes';
import type { ComparedHistory, ComparedName } from '../../model/charts/compared_histories';
import { axis, baseLayout, type ChartColours, caption, stepAxis, stepLine } from './chart_theme';
import { course, hasDots } from './history_chart';

/** Histories of several tensors by one statistic: overlaid, or stacked with an axis each. */
export interface CompareOptions {
  histories: readonly ComparedHistory[];
  statistic: ComparedName;
  multiples: boolean;
  log: boolean;
  lines: readonly string[];
}

/** How values are mapped to the axis. */
interface CompareScale {
  unit: ChartUnit;
  log: SignedLog | null;
}

/** One per history; one for all if they share an axis. */
function compareScales({ histories, statistic, log, multiples }: CompareOptions): CompareScale[] {
  const scaleOf = (columns: readonly (readonly number[])[]): CompareScale => {
    const unit = chartUnit(columns);
    return { unit, log: log ? signedLog(columns.map((column) => column.map(unit.at))) : null };
  };
  const columns = histories.map(({ series }) => series[statistic]);
  if (multiples) return columns.map((column) => scaleOf([column]));
  const shared = scaleOf(columns);
  return columns.map(() => shared);
}

export function compareTraces(options: CompareOptions): Trace[] {
  const scales = compareScales(options);
  return options.histories.map(({ label, series }, i) => {
    const { unit, log } = scales[i] as CompareScale;
    const values = series[options.statistic];
    const colour = options.lines[i % options.lines.length] as string;
    const placed = values.map((value) => (log ? log.at(unit.at(value)) : unit.at(value)));
    return {
      ...course(series.step, placed, values, colour, hasDots(series.step)),
      name: label,
      line: { width: 1.6, color: colour },
      yaxis: options.multiples && i > 0 ? `y${i + 1}` : 'y',
      hovertemplate: `%{customdata:.4~g}<extra>${label.replace(/[<>&%{}]/g, ' ')}</extra>`,
    };
  });
}

/** Low charts have room for zero and the ends. */
function ticksOf(scale: CompareScale | undefined, low: boolean): Layout {
  if (!scale?.log) return {};
  const { ticks } = scale.log;
  const shown = low ? ticks.filter(({ at }, i) => at === 0 || i === 0 || i === ticks.length - 1) : ticks;
  return { tickvals: shown.map(({ at }) => at), ticktext: shown.map(({ label }) => label) };
}

/** Space between small multiples, as a part of the height. */
const GAP = 0.06;

export function compareLayout(options: CompareOptions, step: number | null, colours: ChartColours): Layout {
  const { histories, multiples, lines } = options;
  const scales = compareScales(options);
  const count = multiples ? Math.max(1, histories.length) : 1;
  const height = (1 - GAP * (count - 1)) / count;
  const axes = Array.from({ length: count }, (_, i) => {
    const top = 1 - i * (height + GAP);
    return axis(colours, {
      domain: [Math.max(0, top - height), top],
      fixedrange: true,
      tickformat: '~g',
      nticks: count > 3 ? 4 : 7,
      ...ticksOf(scales[i], count > 3),
    });
  });
  const captions = multiples
    ? histories.map(({ label }, i) => ({
        ...caption(colours, 1 - i * (height + GAP), unitTitle(label, (scales[i] as CompareScale).unit)),
        font: { size: 11, color: lines[i % lines.length] },
      }))
    : [caption(colours, 1, scales[0]?.unit.text ?? '')];
  return {
    ...baseLayout(colours),
    hovermode: 'x',
    hoversubplots: 'axis',
    margin: { l: 66, r: 14, t: 20, b: 36 },
    xaxis: stepAxis(colours, { anchor: count > 1 ? `y${count}` : 'y' }),
    ...Object.fromEntries(axes.map((entry, i) => [i === 0 ? 'yaxis' : `yaxis${i + 1}`, entry])),
    shapes: step === null ? [] : [stepLine(colours, step)],
    annotations: captions,
  };
}
