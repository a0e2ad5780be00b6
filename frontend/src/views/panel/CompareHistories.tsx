import { useMemo } from 'preact/hooks';
import { fileName } from '../../lib/download';
import type { PlotEvent } from '../../lib/plotly';
import { formatNumber } from '../../lib/text/format';
import { brushed, COMPARED, type ComparedHistory, type ComparedName, valueAt } from '../../model/charts/compared_histories';
import { pinText } from '../../model/run/pins';
import { hoveredStep } from '../../state/graph/node';
import { chosenTensor, stepRange } from '../../state/page/choices';
import { comparedStatistic, historyLog, historyView, theme } from '../../state/page/preferences';
import { selectTensor } from '../../state/selection';
import { allSteps, goToStep, step } from '../../state/steps';
import { comparedHistories, missingPins } from '../../state/tensors/pins';
import { chartColours, lineColours } from '../charts/chart_theme';
import { type CompareOptions, compareLayout, compareTraces } from '../charts/compare_chart';
import { Plot } from '../charts/Plot';
import { Select, Switch } from '../kit/Button';

/** Histories of the pinned tensors and the selected one, by one statistic, and their numbers at the current step. */
export function CompareHistories() {
  const histories = comparedHistories.value;
  const lines = lineColours(theme.value);
  return (
    <>
      <div class="tab-bar">
        <Select
          label="Compare"
          value={comparedStatistic.value}
          onChange={(name) => {
            comparedStatistic.value = name as ComparedName;
          }}
          testid="compared-statistic"
        >
          {COMPARED.map(({ id, label }) => (
            <option key={id} value={id}>
              {label}
            </option>
          ))}
        </Select>
        <span class="grow" />
        <LogSwitch />
      </div>
      <CompareChart histories={histories} lines={lines} />
      <CompareNumbers histories={histories} lines={lines} />
      <VisitsTold histories={histories} />
      {missingPins.value.length > 0 && (
        <p class="chart-note faint">Not captured in this graph, or not at these steps: {missingPins.value.join(', ')}</p>
      )}
    </>
  );
}

/** Names the iterations of the histories, if a step has several. */
function VisitsTold({ histories }: { histories: readonly ComparedHistory[] }) {
  const several = histories.filter((history) => history.several).map(({ label }) => label);
  if (several.length === 0) return null;
  return (
    <p class="chart-note faint" data-testid="compared-visits">
      All iterations of each step together: {several.join(', ')}.
    </p>
  );
}

interface CompareProps {
  histories: readonly ComparedHistory[];
  lines: readonly string[];
}

function CompareChart({ histories, lines }: CompareProps) {
  const [statistic, log, multiples, at] = [comparedStatistic.value, historyLog.value, historyView.value === 'multiples', step.value];
  const colours = useMemo(() => chartColours(theme.value), [theme.value]);
  const options = useMemo<CompareOptions>(
    () => ({ histories, statistic, multiples, log, lines }),
    [histories, statistic, multiples, log, lines],
  );
  const traces = useMemo(() => compareTraces(options), [options]);
  const layout = useMemo(() => compareLayout(options, at, colours), [options, at, colours]);
  return (
    <div class="chart" data-testid="compared-histories" data-tensors={histories.length}>
      <Plot
        traces={traces}
        layout={layout}
        label={`${statistic} of ${histories.length} tensors over the steps`}
        saveAs={fileName('histories', statistic)}
        onClick={(event) => goToStep(stepOf(event))}
        onBrush={brush}
        onHover={hover}
      />
    </div>
  );
}

/** The legend, which is also the table of numbers. */
function CompareNumbers({ histories, lines }: CompareProps) {
  const shown = COMPARED.slice(0, 5);
  return (
    <div class="compare-numbers">
      <table class="num">
        <thead>
          <tr>
            <th scope="col">Step {step.value}</th>
            {shown.map(({ id, label }) => (
              <th scope="col" key={id}>
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {histories.map(({ tensor, pin, label, series }, i) => (
            <tr
              key={pinText(pin)}
              data-selected={pin.run === null && tensor === chosenTensor.value}
              data-testid="compared-row"
              data-tensor={tensor}
              data-run={pin.run}
            >
              <td>
                <button type="button" class="compare-name" onClick={() => selectTensor(tensor)} title={pin.run === null ? tensor : label}>
                  <i style={{ background: lines[i % lines.length] }} />
                  <span class="truncate">{label}</span>
                </button>
              </td>
              {shown.map(({ id }) => (
                <td key={id}>{numberText(valueAt(series, id, step.value))}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const numberText = (value: number) => (Number.isNaN(value) ? '–' : formatNumber(value, 3));

/** Common settings of charts of histories. */
export function LogSwitch() {
  return (
    <Switch
      label="Log scale"
      on={historyLog.value}
      onChange={() => {
        historyLog.value = !historyLog.value;
      }}
      title="Symmetric logarithmic axes (symlog)"
    />
  );
}

/** A drag over steps restricts the page to them. */
export function brush(range: [number, number] | null): void {
  if (range === null) stepRange.value = null;
  else stepRange.value = brushed(allSteps.peek().step, ...range) ?? stepRange.peek();
}

export const stepOf = (event: PlotEvent) => Number(event.points[0]?.x);

/** Marks the step under the pointer in the other charts and on the slider. */
export function hover(event: PlotEvent | null): void {
  hoveredStep.value = event ? stepOf(event) : null;
}
