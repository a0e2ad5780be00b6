import { useMemo } from 'preact/hooks';
import { fileName } from '../../lib/download';
import type { Trace } from '../../lib/plotly';
import { overlayOfTensors, type TensorOverlay } from '../../model/charts/histogram_overlay';
import { pinText } from '../../model/run/pins';
import type { Histograms } from '../../model/wire/answers';
import { theme } from '../../state/page/preferences';
import { comparedLabels, comparedPins, pinnedColumns } from '../../state/tensors/pins';
import { baseLayout, type ChartColours, chartColours, faded, lineColours } from '../charts/chart_theme';
import { breakShapes, heightAxis, valueAxis } from '../charts/histogram_chart';
import { Plot } from '../charts/Plot';

interface Named {
  readonly label: string;
  readonly colour: string;
  readonly histogram: Histograms;
}

/** Overlaid histograms of the pinned tensors, of any runs and steps. */
export function PinnedHistograms() {
  const lines = lineColours(theme.value);
  const colours = useMemo(() => chartColours(theme.value), [theme.value]);
  const all = comparedPins.value.flatMap((pin, i): Named[] => {
    const histogram = pinnedColumns.value.get(pinText(pin))?.histogram;
    return histogram ? [{ label: comparedLabels.value[i] ?? pin.tensor, colour: lines[i % lines.length] as string, histogram }] : [];
  });
  const found = useMemo(
    () => overlayOfTensors(all.map(({ histogram }) => histogram)),
    all.map(({ histogram }) => histogram),
  );
  if (all.length < 2) return null;
  return (
    <figure class="pinned-histograms" data-testid="pinned-histograms" data-outlines={found.outlines.filter(Boolean).length}>
      <figcaption class="row">
        {all.map(({ label, colour }) => (
          <span key={label} class="row truncate" title={label}>
            <i style={{ background: colour }} />
            <span class="truncate">{label}</span>
          </span>
        ))}
      </figcaption>
      <div class="chart">
        <Plot
          traces={tracesOf(all, found)}
          layout={layoutOf(found, colours)}
          label={`Histograms of ${all.length} tensors, overlaid`}
          saveAs={fileName('histograms', 'compared')}
        />
      </div>
    </figure>
  );
}

function tracesOf(all: readonly Named[], { outlines }: TensorOverlay): Trace[] {
  return outlines.flatMap((outline, i) => {
    if (outline === null) return [];
    const { label, colour } = all[i] as Named;
    return {
      ...outline,
      mode: 'lines',
      fill: 'tozeroy',
      fillcolor: faded(colour, 0.1),
      line: { width: 1.6, color: colour },
      name: label,
      hoverinfo: 'name',
    };
  });
}

/** Exact zeros are clipped a little above all other bars. */
const ROOM = 1.08;

function layoutOf({ axis, top }: TensorOverlay, colours: ChartColours) {
  return {
    ...baseLayout(colours),
    margin: { l: 58, r: 14, t: 8, b: 40 },
    xaxis: valueAxis(colours, axis),
    shapes: breakShapes(axis, colours),
    yaxis: heightAxis(colours, axis, { range: [0, ROOM * top], title: { text: '% of elements / octave' } }),
  };
}
