import { batch } from '@preact/signals';
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { formatNumber } from '../../lib/text/format';
import type { PanelTab } from '../../model/run/deep_link';
import { type Pin, pinText } from '../../model/run/pins';
import { finiteRange, type NumberRange, type Paint, planeRaster, symmetric } from '../../model/value/raster';
import type { Slice } from '../../model/value/slice';
import type { Trend } from '../../model/wire/answers';
import { LABELS } from '../../model/wire/statistics';
import { chosenTensor, panelTab, pins } from '../../state/page/choices';
import { theme } from '../../state/page/preferences';
import { runId } from '../../state/runs';
import { selectTensor } from '../../state/selection';
import { goToStep, step } from '../../state/steps';
import { comparedLabels, comparedPins, type PinnedColumn, pinnedColumns, TREND, togglePin } from '../../state/tensors/pins';
import { chartColours } from '../charts/chart_theme';
import { IconButton } from '../kit/Button';
import { showRun } from '../shell/RunPicker';
import { sparkline } from '../table/Sparkline';
import { PinnedHistograms } from './PinnedHistograms';
import { SummaryCard } from './SummarySection';

/** The pinned tensors and the selected one at the current step, a column each. */
export function SideBySide() {
  const slices = [...pinnedColumns.value.values()].flatMap(({ slice }) => slice ?? []);
  const range = useMemo(() => sharedRange(slices), slices);
  return (
    <div class="side-by-side" data-testid="side-by-side">
      <PinnedHistograms />
      {comparedPins.value.map((pin, i) => (
        <Column
          key={pinText(pin)}
          pin={pin}
          name={comparedLabels.value[i] ?? pin.tensor}
          found={pinnedColumns.value.get(pinText(pin))}
          range={range}
        />
      ))}
    </div>
  );
}

interface ColumnProps {
  pin: Pin;
  name: string;
  /** Undefined while loading. */
  found: PinnedColumn | undefined;
  /** Range of the values of all columns. */
  range: NumberRange | null;
}

function Column({ pin, name, found, range }: ColumnProps) {
  const row = found?.snapshot;
  const { tensor } = pin;
  const here = pin.run === null && pin.step === null;
  const whole = here ? tensor : `${tensor} (${name.split(' · ').slice(1).join(', ')})`;
  return (
    <section class="side-column" aria-label={whole} data-testid="side-column" data-tensor={tensor} data-step={row?.step}>
      <header class="row">
        <h3 class="grow truncate" aria-current={here && tensor === chosenTensor.value}>
          <button type="button" class="truncate" title={whole} onClick={() => goToPin(pin)}>
            {name}
          </button>
        </h3>
        {row && found.visits > 1 && (
          <span class="chip num" title={`One of ${found.visits} iterations in this step; histogram and statistics show this one`}>
            iteration {row.visit} (of {found.visits})
          </span>
        )}
        {pins.value.includes(pinText(pin)) && (
          <IconButton small icon="close" label={`Unpin ${whole}: close its column`} onClick={() => togglePin(pin)} />
        )}
      </header>
      {row ? (
        <>
          <SummaryCard row={row} histogram={found.histogram} onHistogram={() => goToPin(pin, 'histogram')} />
          {found.slice && range && <ColumnHeatmap slice={found.slice} range={range} label={whole} />}
          {row.trend && <Course trend={row.trend} several={found.visits > 1} />}
          <footer class="row side-tabs">
            {MORE.map(({ tab, label }) => (
              <button key={tab} type="button" class="button" aria-label={`${label} of ${whole}`} onClick={() => goToPin(pin, tab)}>
                {label}
              </button>
            ))}
          </footer>
        </>
      ) : (
        <div class="summary-card loading faint">{found && `Not captured at step ${pin.step ?? step.value}.`}</div>
      )}
    </section>
  );
}

/** The other tabs of one of them. */
const MORE: readonly { tab: PanelTab; label: string }[] = [
  { tab: 'history', label: 'History' },
  { tab: 'histogram', label: 'Histograms' },
  { tab: 'value', label: 'Value' },
];

/** Selects the tensor of a pin, at its step and in its run. */
function goToPin({ tensor, run, step: at }: Pin, tab?: PanelTab): void {
  batch(() => {
    if (run !== null && run !== runId.value) showRun(run);
    if (at !== null) goToStep(at);
    selectTensor(tensor);
    if (tab) panelTab.value = tab;
  });
}

const COURSE = { width: 300, height: 44 };

/** A statistic over all steps, with its extremes. */
function Course({ trend, several }: { trend: Trend; several: boolean }) {
  const { path, dots, bad, low, high } = sparkline(trend, COURSE.width, COURSE.height);
  const last = trend.step[trend.step.length - 1];
  const span = Number.isNaN(low) ? 'no finite elements' : `${formatNumber(low)} … ${formatNumber(high)}`;
  return (
    <figure class="side-course">
      <figcaption class="row">
        <span class="grow">
          {LABELS[TREND]}
          {several && ' of each iteration'}, steps {trend.step[0]}–{last}
        </span>
        <span class="num faint">{span}</span>
      </figcaption>
      <svg class="sparkline" viewBox={`0 0 ${COURSE.width} ${COURSE.height}`} preserveAspectRatio="none" aria-hidden="true">
        <path d={path} vector-effect="non-scaling-stroke" />
        {dots.map(([x, y]) => (
          <circle key={x} cx={x} cy={y} r="2" />
        ))}
        {bad.map((x) => (
          <rect key={x} class="bad" x={x - 1.5} y={COURSE.height - 4} width="3" height="4" />
        ))}
      </svg>
    </figure>
  );
}

/** A common scale for matrices side by side: equal colours are equal numbers. Null if nothing is finite. */
function sharedRange(slices: readonly Slice[]): NumberRange | null {
  const ranges = slices.map((slice) => finiteRange(slice.numbers())).filter((range) => range !== null);
  if (ranges.length === 0) return null;
  return { low: Math.min(...ranges.map(({ low }) => low)), high: Math.max(...ranges.map(({ high }) => high)) };
}

interface ColumnHeatmapProps {
  slice: Slice;
  /** The scale of all columns. */
  range: NumberRange;
  label: string;
}

/** A value as a small heatmap, with the common scale. */
function ColumnHeatmap({ slice, range, label }: ColumnHeatmapProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const shade = theme.value;
  const signs = range.low < 0 && range.high > 0;
  const raster = useMemo(() => {
    const { nan, inf } = chartColours(shade);
    const paint: Paint = { colormap: signs ? 'diverging' : 'viridis', range: signs ? symmetric(range) : range, nan, inf };
    return planeRaster(slice, paint);
  }, [slice, range.low, range.high, shade]);
  useLayoutEffect(() => {
    const context = canvas.current?.getContext('2d');
    context?.putImageData(new ImageData(raster.rgba, raster.width, raster.height), 0, 0);
  }, [raster]);
  const fixed = slice.request.mapping.filter((role) => typeof role === 'number').length;
  return (
    <figure class="side-heatmap">
      <canvas ref={canvas} width={raster.width} height={raster.height} role="img" aria-label={`Heatmap of ${label}`} />
      <figcaption class="num faint">
        {formatNumber(range.low, 3)} … {formatNumber(range.high, 3)}, one scale for all columns
        {fixed > 0 && '; other dimensions at 0'}
      </figcaption>
    </figure>
  );
}
