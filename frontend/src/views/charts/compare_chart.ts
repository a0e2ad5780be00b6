import type { Layout, Trace } from '../../lib/plotly';
import { type ChartUnit, chartUnit } from '../../model/chart_unit';
import type { ComparedHistory, ComparedName } from '../../model/history_compare';
import { type SignedLog, signedLog } from '../../model/signed_log';
import { axis, baseLayout, caption, type Palette, stepAxis, stepLine } from './theme';

/** Histories of several tensors by one statistic: over each other, or below each other with an axis of their own. */
export interface CompareOptions {
  histories: readonly ComparedHistory[];
  statistic: ComparedName;
  multiples: boolean;
  log: boolean;
  lines: readonly string[];
}

function compareScale({ histories, statistic, log }: CompareOptions): { unit: ChartUnit; scale: SignedLog | null } {
  const columns = histories.map(({ series }) => series[statistic]);
  const unit = chartUnit(columns);
  return { unit, scale: log ? signedLog(columns.map((column) => column.map(unit.at))) : null };
}

export function compareTraces(options: CompareOptions): Trace[] {
  const { unit, scale } = compareScale(options);
  return options.histories.map(({ label, series }, i) => {
    const values = series[options.statistic];
    const colour = options.lines[i % options.lines.length];
    return {
      x: series.step,
      y: values.map((value) => (scale ? scale.at(unit.at(value)) : unit.at(value))),
      customdata: values,
      name: label,
      mode: series.step.length < 40 ? 'lines+markers' : 'lines',
      line: { width: 1.6, color: colour },
      marker: { size: 4, color: colour },
      yaxis: options.multiples && i > 0 ? `y${i + 1}` : 'y',
      hovertemplate: `%{customdata:.4~g}<extra>${label.replace(/[<>&%{}]/g, ' ')}</extra>`,
    };
  });
}

/** Space between small multiples, as a part of the height. */
const GAP = 0.06;

export function compareLayout(options: CompareOptions, step: number | null, colours: Palette): Layout {
  const { histories, multiples, lines } = options;
  const { unit, scale } = compareScale(options);
  const ticks = scale ? { tickvals: scale.ticks.map((tick) => tick.at), ticktext: scale.ticks.map((tick) => tick.label) } : {};
  const count = multiples ? Math.max(1, histories.length) : 1;
  const height = (1 - GAP * (count - 1)) / count;
  const axes = Array.from({ length: count }, (_, i) => {
    const top = 1 - i * (height + GAP);
    return axis(colours, {
      domain: [Math.max(0, top - height), top],
      fixedrange: true,
      tickformat: '~g',
      nticks: count > 3 ? 4 : 7,
      ...(unit.text && { title: { text: unit.text, standoff: 4 } }),
      ...ticks,
    });
  });
  const captions = multiples
    ? histories.map(({ label }, i) => ({
        ...caption(colours, 1 - i * (height + GAP), label),
        font: { size: 11, color: lines[i % lines.length] },
      }))
    : [];
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
