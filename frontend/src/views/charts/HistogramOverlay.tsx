import { useMemo } from 'preact/hooks';
import { colormap, formatColour } from '../../lib/colours';
import type { Layout, PlotEvent, Trace } from '../../lib/plotly';
import { formatCount } from '../../lib/text/format';
import { type Overlay, outlinesInFront, type StepOutline } from '../../model/charts/histogram_overlay';
import { baseLayout, type ChartColours, faded } from './chart_theme';
import { breakShapes, heightAxis, valueAxis } from './histogram_chart';
import { Plot } from './Plot';

interface OverlayProps {
  found: Overlay;
  step: number | null;
  label: string;
  colours: ChartColours;
  dark: boolean;
  saveAs: string;
  onStep: (step: number) => void;
  onHover: (step: number | null) => void;
}

/** Outlines of the steps' histograms in one chart: older ones paler, the current step in the accent colour on top. */
export function HistogramOverlay({ found, step, label, colours, dark, saveAs, onStep, onHover }: OverlayProps) {
  const { drawn, traces, layout } = useMemo(() => {
    const drawn = outlinesInFront(found.outlines, step);
    return { drawn, traces: overlayTraces(drawn, step, colours, dark), layout: overlayLayout(found, colours) };
  }, [found, step, colours, dark]);
  const stepAt = (event: PlotEvent | null) => drawn[event?.points[0]?.curveNumber ?? -1]?.step ?? null;
  const goTo = (event: PlotEvent) => {
    const to = stepAt(event);
    if (to !== null) onStep(to);
  };
  return (
    <div class="overlay-frame">
      <div class="chart" data-testid="histogram-overlay" data-outlines={drawn.length}>
        <Plot traces={traces} layout={layout} label={label} saveAs={saveAs} onClick={goTo} onHover={(event) => onHover(stepAt(event))} />
      </div>
      <Legend found={found} dark={dark} />
    </div>
  );
}

/** Legend: the colour of each step, and the skipped steps. */
function Legend({ found: { outlines, of }, dark }: { found: Overlay; dark: boolean }) {
  const [first, last] = [outlines[0], outlines[outlines.length - 1]];
  if (first === undefined || last === undefined) return null;
  const ramp = `linear-gradient(to right, ${ageColours(dark).join(', ')})`;
  return (
    <p class="overlay-legend faint num" data-testid="overlay-legend">
      {first !== last && (
        <>
          <span>step {first.step}</span>
          <i class="scale" style={{ background: ramp }} />
          <span>{last.step}</span>
        </>
      )}
      {of > outlines.length && (
        <span>
          {formatCount(outlines.length)} of {formatCount(of)} histograms, evenly spaced, including the first, last and this step.
        </span>
      )}
    </p>
  );
}

/** Colours of the scale from the oldest step to the newest, without the ends that are invisible on the background. */
const ENDS = { light: [0.84, 0.12], dark: [0.3, 1] } as const;
const SHADES = 9;

/** From the pale colour of the oldest step to the strong one of the newest. */
function ageColours(dark: boolean): string[] {
  return Array.from({ length: SHADES }, (_, i) => ageColour(i / (SHADES - 1), dark));
}

function ageColour(age: number, dark: boolean): string {
  const [oldest, newest] = ENDS[dark ? 'dark' : 'light'];
  const table = colormap('magma');
  const at = 3 * Math.round(255 * (oldest + age * (newest - oldest)));
  return formatColour(table[at] as number, table[at + 1] as number, table[at + 2] as number);
}

/** One line per outline, in drawing order. */
function overlayTraces(outlines: readonly StepOutline[], step: number | null, colours: ChartColours, dark: boolean): Trace[] {
  return outlines.map((outline) => {
    const current = outline.step === step;
    return {
      x: outline.x,
      y: outline.y,
      mode: 'lines',
      fill: current ? 'tozeroy' : 'none',
      fillcolor: faded(colours.accent, 0.12),
      line: { width: current ? 2.5 : 1.2, color: current ? colours.accent : ageColour(outline.age, dark) },
      hoveron: 'points',
      hoverinfo: 'text',
      text: outline.buckets.map(
        ({ range, count }) => `step ${outline.step}<br>${range}<br>${formatCount(Number(count.toPrecision(6)))} elements`,
      ),
      name: String(outline.step),
    };
  });
}

/** Exact zeros are clipped a little above all other bars. */
const ROOM = 1.08;

function overlayLayout({ axis: values, top }: Overlay, colours: ChartColours): Layout {
  return {
    ...baseLayout(colours),
    hovermode: 'closest',
    hoverdistance: 24,
    xaxis: valueAxis(colours, values),
    shapes: breakShapes(values, colours),
    yaxis: heightAxis(colours, values, { range: [0, ROOM * top] }),
  };
}
