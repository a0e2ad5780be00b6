import { batch } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { csvText, downloadText } from '../../lib/download';
import type { PlotEvent } from '../../lib/plotly';
import { formatNumber } from '../../lib/text/format';
import { type HistogramAxis, histogramAxis } from '../../model/charts/histogram_axis';
import { overlay } from '../../model/charts/histogram_overlay';
import { thinRows } from '../../model/charts/histogram_shapes';
import { NO_FILTER } from '../../model/run/tensor_table';
import { tensorFile } from '../../model/value/export_names';
import { noNumbers } from '../../model/value/missing_values';
import type { Histograms } from '../../model/wire/answers';
import { splitScope } from '../../model/wire/names';
import { captured, histograms, history, hoveredStep, node, stepHistogram } from '../../state/graph/node';
import { chosenTensor, chosenVisit, tableDisplay, tableFilter, view } from '../../state/page/choices';
import { histogramMode, histogramScale, theme } from '../../state/page/preferences';
import { maximisePanel } from '../../state/page/ui';
import { goToStep, step } from '../../state/steps';
import { type ChartColours, chartColours } from '../charts/chart_theme';
import { HistogramHeatmap } from '../charts/HistogramHeatmap';
import { HistogramOverlay } from '../charts/HistogramOverlay';
import { ridgelineLayout, ridgelineTraces, singleLayout, singleTraces } from '../charts/histogram_chart';
import { Plot } from '../charts/Plot';
import { IconButton, Segmented } from '../kit/Button';
import { Failure } from '../kit/Message';
import { escapeRegex, NoNumbers, NotCaptured, VisitNote } from './panel_notices';

const MODES = [
  { value: 'ridgeline', label: 'Ridgeline' },
  { value: 'overlay', label: 'Overlay' },
  { value: 'heatmap', label: 'Heatmap' },
  { value: 'step', label: 'This step' },
] as const;

const SCALES = [
  { value: 'symlog', label: 'Symlog' },
  { value: 'linear', label: 'Linear' },
] as const;

/** Distribution of the values, over the steps and at the current step. */
export function HistogramTab() {
  const data = histograms.data.value;
  if (captured.value === false) return <NotCaptured />;
  if (data === null) return histograms.error.value ? <Failure error={histograms.error.value} retry={histograms.reload} /> : null;
  const none = noNumbers(history.data.value?.rows ?? []);
  if (none !== null) return <NoNumbers text={none} />;
  return (
    <div class="tab-body fill">
      <div class="tab-bar">
        <Segmented
          label="Chart"
          options={MODES}
          value={histogramMode.value}
          onChange={(mode) => {
            histogramMode.value = mode;
          }}
        />
        <div class="grow" />
        <span class="row">
          <Segmented
            label="Value axis"
            options={SCALES}
            value={histogramScale.value}
            onChange={(scale) => {
              histogramScale.value = scale;
            }}
          />
          <LayerHistograms />
          <HistogramDownload histograms={data} />
        </span>
      </div>
      <HistogramChart data={data} />
      <p class="chart-note faint">
        <VisitNote />
        {note(data)}
      </p>
    </div>
  );
}

/** Maximum number of histograms in a readable ridgeline. */
const MOST_RIDGES = 32;

function HistogramChart({ data }: { data: Histograms }) {
  const at = step.value;
  const colours = useMemo(() => chartColours(theme.value), [theme.value]);
  return (
    <div class="chart-frame" data-testid="histogram" data-tensor={data.tensor} data-step={at ?? ''}>
      {histogramMode.value === 'heatmap' && <Heatmap data={data} colours={colours} />}
      {histogramMode.value === 'ridgeline' && <Ridgeline data={data} colours={colours} />}
      {histogramMode.value === 'overlay' && <Outlines data={data} colours={colours} />}
      {histogramMode.value === 'step' && <ThisStep data={data} colours={colours} />}
    </div>
  );
}

interface ChartProps {
  data: Histograms;
  colours: ChartColours;
}

/** The chart of one step is named by it. */
function saveAs(): string {
  const at = histogramMode.value === 'step' ? (step.value ?? undefined) : undefined;
  return tensorFile({ tensor: chosenTensor.value ?? '', step: at, visit: chosenVisit.value, what: 'histogram' });
}

function axisOf(data: Histograms): HistogramAxis {
  return histogramAxis(data, histogramScale.value);
}

const setHoveredStep = (hovered: number | null): void => {
  hoveredStep.value = hovered;
};

function Heatmap({ data, colours }: ChartProps) {
  const values = useMemo(() => axisOf(data), [data]);
  const labels = useMemo(() => bucketLabels(data), [data]);
  return (
    <HistogramHeatmap
      rows={data.rows}
      values={values}
      labels={labels}
      step={step.value}
      colours={colours}
      dark={theme.value === 'dark'}
      saveAs={saveAs()}
      onStep={goToStep}
      onHover={setHoveredStep}
    />
  );
}

function Ridgeline({ data, colours }: ChartProps) {
  const at = step.value;
  const { traces, layout, rows } = useMemo(() => {
    const values = axisOf(data);
    const rows = thinRows(data.rows, MOST_RIDGES, at);
    return { rows, traces: ridgelineTraces(rows, values, at, colours), layout: ridgelineLayout(rows, values, colours) };
  }, [data, colours, at]);
  const goToRow = (event: PlotEvent) => goToStep(rows[event.points[0]?.curveNumber ?? -1]?.step ?? at);
  return (
    <div class="chart">
      <Plot traces={traces} layout={layout} label={`Histograms of ${data.tensor} over the steps`} saveAs={saveAs()} onClick={goToRow} />
    </div>
  );
}

/** All steps with one scale of counts, including the current one if it is thinned out. */
function Outlines({ data, colours }: ChartProps) {
  const at = step.value;
  const scale = histogramScale.value;
  const alone = stepHistogram.data.value;
  const found = useMemo(() => overlay(data, alone, at, scale), [data, alone, at, scale]);
  return (
    <HistogramOverlay
      found={found}
      step={at}
      label={`Histograms of ${data.tensor} over the steps, overlaid`}
      colours={colours}
      dark={theme.value === 'dark'}
      saveAs={saveAs()}
      onStep={goToStep}
      onHover={setHoveredStep}
    />
  );
}

/** The current step, in front of the outline of the first step if both have the same buckets. */
function ThisStep({ data, colours }: ChartProps) {
  const at = step.value;
  const alone = stepHistogram.data.value;
  const { traces, layout } = useMemo(() => {
    const row = data.rows.find((candidate) => candidate.step === at) ?? null;
    const source = row === null && alone !== null ? alone : data;
    const shown = row ?? alone?.rows.find((candidate) => candidate.step === at) ?? null;
    const first = row !== null && data.rows[0] !== row ? (data.rows[0] ?? null) : null;
    const values = axisOf(source);
    return {
      traces: shown ? singleTraces(shown, first, values, bucketLabels(source), colours) : [],
      layout: singleLayout(values, colours),
    };
  }, [data, alone, colours, at]);
  return (
    <div class="chart">
      <Plot traces={traces} layout={layout} label={`Histogram of ${data.tensor} at step ${at}`} saveAs={saveAs()} />
    </div>
  );
}

/** Text below the chart of a histogram tab. */
function note(data: Histograms): string {
  const approximate = data.approximate ? 'Approximate: re-binned from log buckets. ' : '';
  if (histogramMode.value === 'step') return `${approximate}Outline: the first step.`;
  if (histogramMode.value === 'overlay') return approximate;
  const missing = step.value !== null && !data.rows.some((row) => row.step === step.value);
  const thinned = missing ? `Step ${step.value} is not in the ${data.rows.length} sampled steps. Switch to "This step". ` : '';
  return `${approximate}${thinned}Each row is normalized to its peak (exact zeros excluded). NaN/Inf not shown.`;
}

function bucketLabels(data: Histograms): string[] {
  return data.edges.slice(1).map((right, i) => {
    if (i === data.zero_bucket && histogramScale.value === 'symlog') return 'exactly 0';
    return `${formatNumber(data.edges[i] as number)} … ${formatNumber(right)}`;
  });
}

/** Link to the histograms of the whole layer, or of the scope. */
function LayerHistograms() {
  const detail = node.data.value;
  if (detail === null) return null;
  const { scope } = splitScope(detail.name);
  if (!detail.layer && scope === '') return null;
  const show = () => {
    batch(() => {
      tableFilter.value = detail.layer ? { ...NO_FILTER, layer: detail.layer } : { ...NO_FILTER, match: `^${escapeRegex(scope)}` };
      tableDisplay.value = 'histograms';
      view.value = 'table';
      maximisePanel(false);
    });
  };
  const of = detail.layer ? `layer ${detail.layer}` : scope.replace(/\/$/, '');
  return <IconButton small icon="grid" label={`All histograms of ${of}`} onClick={show} testid="layer-histograms" />;
}

/** The histograms as numbers: one row a bucket and step. */
function HistogramDownload({ histograms }: { histograms: Histograms }) {
  const save = () => {
    const { edges, rows, tensor } = histograms;
    const lines = rows.flatMap((row) => row.counts.map((count, i) => [row.step, edges[i] as number, edges[i + 1] as number, count]));
    downloadText(
      `${tensorFile({ tensor, visit: chosenVisit.value, what: 'histograms' })}.csv`,
      csvText(['step', 'left', 'right', 'count'], lines),
      'text/csv',
    );
  };
  return <IconButton small icon="download" label="Download the histograms as CSV" onClick={save} />;
}
