import { useMemo } from 'preact/hooks';
import { fileName } from '../../lib/download';
import type { PlotEvent } from '../../lib/plotly';
import { historySeries } from '../../model/history_series';
import { chosenTensor } from '../../state/choices';
import { captured, history, hoveredStep } from '../../state/node';
import { historyLog, theme } from '../../state/preferences';
import { goToStep, step } from '../../state/steps';
import { historyLayout, historyTraces } from '../charts/history_chart';
import { Plot } from '../charts/Plot';
import { palette } from '../charts/theme';
import { Switch } from '../kit/Button';
import { Failure } from '../kit/Message';
import { HistoryDownload } from './HistoryDownload';
import { NotCaptured } from './NotCaptured';

/** How the statistics of the tensor move over the steps. Click a step to go there. */
export function HistoryTab() {
  const data = history.data.value;
  if (captured.value === false) return <NotCaptured />;
  if (data === null) return history.error.value ? <Failure error={history.error.value} retry={history.reload} /> : null;
  return (
    <div class="tab-body fill">
      <div class="tab-bar">
        <span class="faint num grow">
          {data.rows.length} snapshots{data.thinned_from ? ` of ${data.thinned_from}, evenly chosen` : ''}
        </span>
        <Switch
          label="Log scale"
          on={historyLog.value}
          onChange={() => {
            historyLog.value = !historyLog.value;
          }}
          title="Logarithmic axis for std and abs max"
        />
        <HistoryDownload history={data} />
      </div>
      <HistoryChart />
    </div>
  );
}

function HistoryChart() {
  const data = history.data.value;
  const colours = useMemo(() => palette(theme.value), [theme.value]);
  const series = useMemo(() => historySeries(data?.rows ?? []), [data]);
  const traces = useMemo(() => historyTraces(series, colours), [series, colours]);
  const bad = useMemo(() => Math.max(0, ...series.nan, ...series.inf), [series]);
  const layout = useMemo(
    () => historyLayout(colours, { step: step.value, log: historyLog.value, bad }),
    [colours, step.value, historyLog.value, bad],
  );
  const stepOf = (event: PlotEvent) => Number(event.points[0]?.x);
  return (
    <div class="chart" data-testid="history">
      <Plot
        traces={traces}
        layout={layout}
        label={`Statistics of ${chosenTensor.value} over the steps`}
        saveAs={fileName(chosenTensor.value ?? 'tensor', 'history')}
        onClick={(event) => goToStep(stepOf(event))}
        onHover={(event) => {
          hoveredStep.value = event ? stepOf(event) : null;
        }}
      />
    </div>
  );
}
