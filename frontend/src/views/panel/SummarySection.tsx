import { counted, formatBytes, formatCount, formatNumber, formatShare } from '../../lib/text/format';
import { neighbourSteps } from '../../model/run/step_list';
import { itemsize } from '../../model/value/elements';
import { hasNoStatistics } from '../../model/value/missing_values';
import { sampleText } from '../../model/value/sample';
import type { Histograms, Snapshot } from '../../model/wire/answers';
import { workerName } from '../../model/wire/names';
import { type CountName, isUnknown, LABELS, STATISTICS, shapeText, uncounted } from '../../model/wire/statistics';
import { captured, history, snapshot, snapshots, stepHistogram } from '../../state/graph/node';
import { panelTab, view } from '../../state/page/choices';
import { runDetail, workerId } from '../../state/runs';
import { goToStep, step } from '../../state/steps';
import { MiniHistogram } from '../charts/MiniHistogram';
import { CopyButton } from '../kit/CopyButton';
import { Failure, Message } from '../kit/Message';
import { ComputeOffer } from '../value/ComputeOffer';
import { NotCaptured } from './panel_notices';

/** The summary of the tensor at the current step, or a link to the nearest one. */
export function SummarySection() {
  const row = snapshot.value;
  if (row) return <SummaryCard row={row} histogram={stepHistogram.data.value} onHistogram={showHistograms} />;
  if (captured.value === false) return <NotCaptured />;
  if (snapshots.error.value) return <Failure error={snapshots.error.value} retry={snapshots.reload} />;
  return captured.value === null || snapshots.loading.value ? <div class="summary-card loading" /> : <NotAtThisStep />;
}

function showHistograms(): void {
  panelTab.value = 'histogram';
}

interface SummaryCardProps {
  row: Snapshot;
  histogram: Histograms | null;
  onHistogram: () => void;
}

/** The elements of one snapshot in numbers. */
export function SummaryCard({ row, histogram, onHistogram }: SummaryCardProps) {
  const bytes = row.size * itemsize(row.dtype);
  return (
    <section class="summary-card" data-testid="summary" data-step={row.step}>
      <div class="row">
        <b class="mono">{row.dtype}</b>
        <b class="num">{shapeText(row, ' × ')}</b>
        {row.sample && (
          <span class="chip" title={`${formatCount(Math.min(row.sample.count, row.size))} elements stored, ${sampleText(row.sample)}`}>
            sample stored
          </span>
        )}
        <span class="grow" />
        <span class="faint num">
          {isUnknown(row.size) ? 'size unknown' : counted(row.size, 'element')}
          {Number.isNaN(bytes) ? '' : ` · ${formatBytes(bytes)}`}
        </span>
      </div>
      <Origin row={row} />
      {row.dtype !== 'string' && (
        <>
          <CountsBar row={row} />
          {hasNoStatistics(row) ? (
            <p class="faint" data-testid="no-statistics">
              The imported data have no statistics or histogram.
            </p>
          ) : hasFinite(row) ? (
            <>
              <MiniHistogram data={histogram} of={row} onClick={onHistogram} />
              <StatisticsGrid row={row} />
            </>
          ) : (
            // Problems are those of the run, not of a what-if.
            <p class="faint" data-testid="nothing-finite">
              All elements are NaN/Inf.{view.value !== 'stepper' && ' See the origin in Problems.'}
            </p>
          )}
        </>
      )}
    </section>
  );
}

/** Empty tensors have zeros to show; of others one element must be a number. */
function hasFinite(row: Snapshot): boolean {
  const bad = row.nan + row.pos_inf + row.neg_inf;
  return row.size === 0 || Number.isNaN(bad + row.size) || bad < row.size;
}

/** The worker of the numbers, if there are several. */
function Origin({ row }: { row: Snapshot }) {
  const workers = runDetail.value?.workers ?? [];
  if (workers.length < 2) return null;
  return (
    <p class="faint" title={row.worker}>
      From {workerName(row.worker, workers)}
      {workerId.value === null ? ', the latest worker with this tensor. Choose another at the top.' : ', chosen at the top.'}
    </p>
  );
}

/** Steps nearby that do have this tensor. */
export function NotAtThisStep() {
  const at = step.value ?? 0;
  const steps = [...new Set(history.data.value?.rows.map((row) => row.step) ?? [])];
  const { before, after } = neighbourSteps(steps, at);
  return (
    <Message title={`Not captured at step ${at}`} testid="no-snapshot">
      <p>
        {steps.length === 0
          ? 'Not captured at any step in range.'
          : steps.length === 1
            ? 'It was captured at one other step.'
            : `It was captured at ${formatCount(steps.length)} other steps.`}
      </p>
      <div class="actions">
        {[before, after].map((nearby) =>
          nearby === null ? null : (
            <button type="button" class="button num" key={nearby} onClick={() => goToStep(nearby)}>
              Go to step {nearby}
            </button>
          ),
        )}
      </div>
      <ComputeOffer />
    </Message>
  );
}

/** Statistics of the finite elements; the tooltip and the clipboard have the full number. */
function StatisticsGrid({ row }: { row: Snapshot }) {
  return (
    <dl class="statistics num">
      {STATISTICS.map((name) => (
        <div key={name} title={`${LABELS[name]} = ${row[name]}`} data-testid={`statistic-${name}`}>
          <dt>{LABELS[name]}</dt>
          <dd>
            {Number.isNaN(row[name]) ? '–' : formatNumber(row[name], 5)}
            <CopyButton text={String(row[name])} label={`Copy ${LABELS[name]} of ${row.tensor}`} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** In the order they are drawn; subnormal numbers are part of negative and positive, so they have no piece of the bar. */
const PIECES: readonly CountName[] = ['nan', 'neg_inf', 'pos_inf', 'negative', 'zero', 'positive'];

/** Kinds of elements as shares. A kind with a single element is still visible; imported runs may lack some. */
function CountsBar({ row }: { row: Snapshot }) {
  const shown = PIECES.filter((name) => row[name] > 0);
  const unknown = uncounted(row);
  const unreported = PIECES.filter((name) => isUnknown(row[name]));
  return (
    <div class="counts">
      <div class="counts-bar" role="img" aria-label={shown.map((name) => `${LABELS[name]} ${row[name]}`).join(', ')}>
        {shown.map((name) => (
          <i
            key={name}
            class={`count-${name}`}
            style={{ flexGrow: String(row[name]) }}
            title={`${LABELS[name]}: ${formatCount(row[name])}`}
          />
        ))}
        {unknown > 0 && <i class="count-unknown" style={{ flexGrow: String(unknown) }} title={`not counted: ${formatCount(unknown)}`} />}
      </div>
      <ul class="counts-legend num">
        {[...shown, ...(row.subnormal > 0 ? (['subnormal'] as const) : [])].map((name) => (
          <li key={name} title={`${formatCount(row[name])} of ${formatCount(row.size)}`}>
            <i class={`count-${name}`} />
            {LABELS[name]} <b>{formatCount(row[name])}</b> <span class="faint">{formatShare(row[name], row.size)}</span>
          </li>
        ))}
        {unknown > 0 && (
          <li title="This import format has no such counts">
            <i class="count-unknown" />
            not counted <b>{formatCount(unknown)}</b> <span class="faint">{formatShare(unknown, row.size)}</span>
          </li>
        )}
        {unreported.length > 0 && (
          <li class="faint" data-testid="counts-unknown" title="This import format has no such counts">
            {unreported.map((name) => LABELS[name]).join(', ')}: unknown
          </li>
        )}
      </ul>
    </div>
  );
}
