import { useMemo } from 'preact/hooks';
import { chartUnit } from '../../model/charts/axes';
import { textAt } from '../../model/value/elements';
import type { Slice } from '../../model/value/slice';
import type { Snapshot } from '../../model/wire/answers';
import { theme } from '../../state/page/preferences';
import { valueFile } from '../../state/tensors/value';
import { axis, baseLayout, chartColours } from '../charts/chart_theme';
import { Plot } from '../charts/Plot';
import { Magnitude } from './ColourBar';
import { dimensionTitle } from './DimensionBar';
import { Thinned } from './ValueHeatmap';

/** One dimension as a line; gaps are NaN or Inf, and marked below it. */
export function ValueLine({ data, row }: { data: Slice; row: Snapshot }) {
  const colours = useMemo(() => chartColours(theme.value), [theme.value]);
  const { traces, unit } = useMemo(() => {
    const count = data.length('x');
    const at = Array.from({ length: count }, (_, x) => x);
    const x = at.map((i) => data.index({ x: i })[data.request.mapping.indexOf('x')] as number);
    const numbers = at.map((i) => data.number({ x: i }));
    const unit = chartUnit([numbers]);
    const y = numbers.map(unit.at);
    const text = at.map((i) => textAt(data.array, data.offset({ x: i }), row.dtype));
    const bad = at.filter((i) => !Number.isFinite(y[i]));
    const floor = Math.min(0, ...y.filter(Number.isFinite));
    const traces = [
      {
        x,
        y,
        customdata: text,
        mode: count < 200 ? 'lines+markers' : 'lines',
        line: { color: colours.accent, width: 1.4 },
        marker: { size: 4, color: colours.accent },
        hovertemplate: '[%{x}] = %{customdata}<extra></extra>',
      },
      {
        x: bad.map((i) => x[i]),
        y: bad.map(() => floor),
        text: bad.map((i) => text[i]),
        mode: 'markers',
        marker: { color: colours.nan, size: 7, symbol: 'x' },
        hovertemplate: '[%{x}] = %{text}<extra></extra>',
      },
    ];
    return { traces, unit: unit.text };
  }, [data, row.dtype, colours]);
  const along = row.shape.length < 2 ? 'index' : dimensionTitle(row.shape, data.request.mapping.indexOf('x'));
  const layout = useMemo(
    () => ({
      ...baseLayout(colours),
      hovermode: 'closest',
      xaxis: axis(colours, { title: { text: along, standoff: 6 } }),
      yaxis: axis(colours, { tickformat: '~g', ...(unit && { title: { text: unit, standoff: 4 } }) }),
      margin: { l: 56, r: 12, t: 12, b: 36 },
    }),
    [colours, unit, along],
  );
  return (
    <>
      <div class="chart">
        <Plot traces={traces} layout={layout} label={`Line of ${row.tensor}`} saveAs={valueFile(row, data.request.mapping)} />
      </div>
      <p class="chart-note faint">
        <Magnitude dtype={row.dtype} />
        <Thinned stride={data.stride} />
      </p>
    </>
  );
}
