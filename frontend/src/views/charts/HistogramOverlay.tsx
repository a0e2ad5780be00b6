import { useMemo } from 'preact/hooks';
import { formatCount } from '../../lib/format';
import type { PlotEvent } from '../../lib/plotly';
import { type Overlay, outlinesInFront } from '../../model/charts/histogram_overlay';
import { ageColours, overlayLayout, overlayTraces } from './overlay_chart';
import { Plot } from './Plot';
import type { Palette } from './theme';

interface OverlayProps {
  found: Overlay;
  step: number | null;
  label: string;
  colours: Palette;
  dark: boolean;
  saveAs: string;
  onStep: (step: number) => void;
  onHover: (step: number | null) => void;
}

/** Outlines of the steps' histograms in one chart: the older the paler, the step on show in the accent colour before them. */
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

/** Which colour is which step's, and which steps are left out. */
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
          {formatCount(outlines.length)} of {formatCount(of)} histograms, evenly chosen, the first, the last and this step among them.
        </span>
      )}
    </p>
  );
}
