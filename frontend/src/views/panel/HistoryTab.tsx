import { useMemo } from 'preact/hooks';
import { csvText, downloadText } from '../../lib/download';
import { counted } from '../../lib/text/format';
import { historySeries, quantileSeries } from '../../model/charts/history_series';
import { tensorFile } from '../../model/value/export_names';
import { noNumbers } from '../../model/value/missing_values';
import type { History } from '../../model/wire/answers';
import { COUNTS, STATISTICS } from '../../model/wire/statistics';
import { captured, history, quantileHistograms } from '../../state/graph/node';
import { chosenTensor, chosenVisit, pins } from '../../state/page/choices';
import { type HistoryView, historyBand, historyLog, historyView, theme } from '../../state/page/preferences';
import { goToStep, shownRange, step } from '../../state/steps';
import { comparing } from '../../state/tensors/pins';
import { chartColours } from '../charts/chart_theme';
import { historyLayout, historyTraces, type Spread, spreadScale } from '../charts/history_chart';
import { Plot } from '../charts/Plot';
import { IconButton, Segmented } from '../kit/Button';
import { Failure } from '../kit/Message';
import { brush, CompareHistories, hover, LogSwitch, stepOf } from './CompareHistories';
import { NoNumbers, NotCaptured, VisitNote } from './panel_notices';

const VIEWS = [
  { value: 'one', label: 'This tensor' },
  { value: 'overlay', label: 'Overlay' },
  { value: 'multiples', label: 'Stacked' },
] as const;

const BANDS = [
  { value: 'spread', label: 'Mean ± std' },
  { value: 'quantiles', label: 'Quantiles' },
] as const;

/** Statistics of the tensor over the steps, alone or beside pinned ones. */
export function HistoryTab() {
  return (
    <div class="tab-body fill">
      {pins.value.length > 0 && (
        <div class="tab-bar">
          <Segmented
            label="Histories"
            options={VIEWS}
            value={historyView.value}
            onChange={(next: HistoryView) => {
              historyView.value = next;
            }}
          />
        </div>
      )}
      {comparing.value ? <CompareHistories /> : <OneHistory />}
    </div>
  );
}

function OneHistory() {
  const data = history.data.value;
  if (captured.value === false) return <NotCaptured />;
  if (data === null) return history.error.value ? <Failure error={history.error.value} retry={history.reload} /> : null;
  const none = noNumbers(data.rows);
  if (none !== null) return <NoNumbers text={none} />;
  return (
    <>
      <div class="tab-bar">
        <Segmented
          label="Band"
          options={BANDS}
          value={historyBand.value}
          onChange={(band) => {
            historyBand.value = band;
          }}
        />
        <span class="grow" />
        <LogSwitch />
        <HistoryDownload history={data} />
      </div>
      <HistoryChart />
      <p class="chart-note faint">
        {counted(data.rows.length, 'snapshot')}
        {data.thinned_from ? ` of ${data.thinned_from}, evenly spaced` : ''}
        {shownRange.value ? ` in steps ${shownRange.value.first}–${shownRange.value.last}` : ''}. <VisitNote />
        {note()} Click a step to go there, drag to zoom in, double-click to show all steps.
      </p>
    </>
  );
}

function note(): string {
  if (historyBand.value === 'spread') return '';
  const found = quantileHistograms.data.value;
  if (found?.rows.every((row) => row.counts.every((count) => count === 0))) return 'This tensor has no histogram.';
  return 'Approximate quantiles from histogram buckets (error < 1.5×).';
}

function HistoryChart() {
  const data = history.data.value;
  const found = quantileHistograms.data.value;
  const [band, log] = [historyBand.value, historyLog.value];
  const colours = useMemo(() => chartColours(theme.value), [theme.value]);
  const series = useMemo(() => historySeries(data?.rows ?? []), [data]);
  const spread = useMemo<Spread>(
    () => (band === 'quantiles' && found ? { kind: 'quantiles', quantiles: quantileSeries(found) } : { kind: 'spread' }),
    [band, found],
  );
  const scale = useMemo(() => spreadScale(series, log), [series, log]);
  const traces = useMemo(() => historyTraces(series, spread, scale, colours), [series, spread, scale, colours]);
  const bad = useMemo(() => Math.max(0, ...[...series.nan, ...series.inf].filter((count) => !Number.isNaN(count))), [series]);
  const finite = useMemo(() => series.absMax.some((value) => !Number.isNaN(value)), [series]);
  const layout = useMemo(
    () => historyLayout(colours, { step: step.value, log, scale, spread: spread.kind, finite, bad }),
    [colours, step.value, log, scale, spread, finite, bad],
  );
  return (
    <div class="chart" data-testid="history">
      <Plot
        traces={traces}
        layout={layout}
        label={`Statistics of ${chosenTensor.value} over the steps`}
        saveAs={tensorFile({ tensor: chosenTensor.value ?? '', visit: chosenVisit.value, what: 'history' })}
        onClick={(event) => goToStep(stepOf(event))}
        onBrush={brush}
        onHover={hover}
      />
    </div>
  );
}

/** The history as a table of numbers, one row per snapshot. */
function HistoryDownload({ history }: { history: History }) {
  const save = () => {
    const measures = ['size', ...COUNTS, ...STATISTICS] as const;
    const rows = history.rows.map((row) => [
      row.step,
      row.visit,
      row.worker,
      row.dtype,
      row.shape.join('x'),
      ...measures.map((name) => row[name]),
    ]);
    const text = csvText(['step', 'visit', 'worker', 'dtype', 'shape', ...measures], rows);
    downloadText(`${tensorFile({ tensor: history.tensor, visit: chosenVisit.value, what: 'history' })}.csv`, text, 'text/csv');
  };
  return <IconButton small icon="download" label="Download the statistics as CSV" onClick={save} />;
}
