import { useMemo, useState } from 'preact/hooks';
import { formatCount, formatNumber } from '../../lib/text/format';
import type { Slice } from '../../model/value/slice';
import { canBeDrawn, type ValueHistogram as Found, valueHistogram } from '../../model/value/value_histogram';
import type { Snapshot } from '../../model/wire/answers';
import { theme } from '../../state/page/preferences';
import { valueFile } from '../../state/tensors/value';
import { axis, baseLayout, type ChartColours, chartColours, faded } from '../charts/chart_theme';
import { Plot } from '../charts/Plot';
import { Switch } from '../kit/Button';
import { Message } from '../kit/Message';
import { Magnitude } from './ColourBar';
import { Thinned } from './ValueHeatmap';
import { numbers } from './value_colours';

/** Exact distribution of the elements of the slice. */
export function ValueHistogram({ data, row }: { data: Slice; row: Snapshot }) {
  const [log, setLog] = useState(false);
  const values = numbers.value;
  const found = useMemo(() => valueHistogram(values), [values]);
  const colours = useMemo(() => chartColours(theme.value), [theme.value]);
  const traces = useMemo(() => [bars(found, colours)], [found, colours]);
  const layout = useMemo(() => layoutOf(colours, log), [colours, log]);
  return (
    <>
      <div class="chart" data-testid="slice-histogram" data-elements={values.length}>
        {found.finite > 0 && !canBeDrawn(found) && (
          <Message title="Value range too narrow to plot">
            The values span {formatNumber(found.max - found.min)}. They are listed below, and in the table.
          </Message>
        )}
        {canBeDrawn(found) && (
          <Plot
            traces={traces}
            layout={layout}
            label={`Histogram of [${data.request.selection}] of ${row.tensor}`}
            saveAs={valueFile(row, data.request.mapping, 'histogram')}
          />
        )}
      </div>
      <Facts found={found} />
      <div class="colour-bar">
        <span class="faint num grow">
          {formatCount(values.length)} elements of [{data.request.selection}]
        </span>
        <Magnitude dtype={row.dtype} />
        <Thinned stride={data.stride} />
        <Switch label="Log counts" on={log} onChange={() => setLog(!log)} />
      </div>
    </>
  );
}

function bars({ edges, counts }: Found, colours: ChartColours) {
  return {
    type: 'bar',
    x: counts.map((_, i) => ((edges[i] as number) + (edges[i + 1] as number)) / 2),
    y: counts,
    width: counts.map((_, i) => (edges[i + 1] as number) - (edges[i] as number)),
    customdata: counts.map((_, i) => `${formatNumber(edges[i] as number)} … ${formatNumber(edges[i + 1] as number)}`),
    marker: { color: faded(colours.accent, 0.75), line: { width: 0.5, color: colours.surface } },
    hovertemplate: '%{customdata}<br>%{y:,} elements<extra></extra>',
  };
}

const layoutOf = (colours: ChartColours, log: boolean) => ({
  ...baseLayout(colours),
  bargap: 0,
  hovermode: 'closest',
  xaxis: axis(colours, { title: { text: 'value', standoff: 6 }, tickformat: '~g' }),
  yaxis: axis(colours, { title: { text: 'elements', standoff: 4 }, type: log ? 'log' : 'linear', tickformat: '~s', rangemode: 'tozero' }),
});

function Facts({ found }: { found: Found }) {
  const bad = (['nan', 'posInf', 'negInf'] as const).filter((name) => found[name] > 0);
  const names = { nan: 'NaN', posInf: '+Inf', negInf: '-Inf' };
  return (
    <dl class="slice-facts num">
      {(['min', 'median', 'mean', 'max', 'std'] as const).map((name) => (
        <div key={name} title={String(found[name])}>
          <dt>{name}</dt>
          <dd>{Number.isNaN(found[name]) ? '–' : formatNumber(found[name])}</dd>
        </div>
      ))}
      {bad.map((name) => (
        <div key={name}>
          <dt>{names[name]}</dt>
          <dd class={name === 'nan' ? 'nan' : 'inf'}>{formatCount(found[name])}</dd>
        </div>
      ))}
    </dl>
  );
}
