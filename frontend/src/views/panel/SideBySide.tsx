import { formatNumber } from '../../lib/format';
import { shortNames } from '../../model/charts/compared_histories';
import type { PanelTab } from '../../model/run/deep_link';
import type { Trend } from '../../model/wire/answers';
import { LABELS } from '../../model/wire/statistics';
import { chosenTensor, panelTab, pins } from '../../state/choices';
import { selectTensor } from '../../state/selection';
import { step } from '../../state/steps';
import { comparedTensors, type PinnedColumn, pinnedColumns, TREND, togglePin } from '../../state/tensors/pins';
import { IconButton } from '../kit/Button';
import { sparkline } from '../table/Sparkline';
import { SummaryCard } from './SummarySection';

/** The pinned tensors and the selected one at the step on show, a column each. */
export function SideBySide() {
  const tensors = comparedTensors.value;
  const names = shortNames(tensors);
  return (
    <div class="side-by-side" data-testid="side-by-side">
      {tensors.map((tensor, i) => (
        <Column key={tensor} tensor={tensor} name={names[i] ?? tensor} found={pinnedColumns.value.get(tensor)} />
      ))}
    </div>
  );
}

interface ColumnProps {
  tensor: string;
  name: string;
  /** Undefined until it is there. */
  found: PinnedColumn | undefined;
}

function Column({ tensor, name, found }: ColumnProps) {
  const row = found?.snapshot;
  return (
    <section class="side-column" aria-label={tensor} data-testid="side-column" data-tensor={tensor}>
      <header class="row">
        <h3 class="grow truncate" aria-current={tensor === chosenTensor.value}>
          <button type="button" class="truncate" title={tensor} onClick={() => selectTensor(tensor)}>
            {name}
          </button>
        </h3>
        {row && found.visits > 1 && (
          <span class="chip num" title={`It ran ${found.visits} times in this step; the histogram and the numbers are of this iteration`}>
            iteration {row.visit} ({found.visits})
          </span>
        )}
        {pins.value.includes(tensor) && (
          <IconButton small icon="close" label={`Unpin ${tensor}: close its column`} onClick={() => togglePin(tensor)} />
        )}
      </header>
      {row ? (
        <>
          <SummaryCard row={row} histogram={found.histogram} onHistogram={() => show(tensor, 'histogram')} />
          {row.trend && <Course trend={row.trend} several={found.visits > 1} />}
          <footer class="row side-tabs">
            {MORE.map(({ tab, label }) => (
              <button key={tab} type="button" class="button" aria-label={`${label} of ${tensor}`} onClick={() => show(tensor, tab)}>
                {label}
              </button>
            ))}
          </footer>
        </>
      ) : (
        <div class="summary-card loading faint">{found && `Not captured at step ${step.value}.`}</div>
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

function show(tensor: string, tab: PanelTab): void {
  selectTensor(tensor);
  panelTab.value = tab;
}

const COURSE = { width: 300, height: 44 };

/** A statistic over all steps, with its extremes. */
function Course({ trend, several }: { trend: Trend; several: boolean }) {
  const { path, dots, bad, low, high } = sparkline(trend, COURSE.width, COURSE.height);
  const last = trend.step[trend.step.length - 1];
  const span = Number.isNaN(low) ? 'nothing finite' : `${formatNumber(low)} … ${formatNumber(high)}`;
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
