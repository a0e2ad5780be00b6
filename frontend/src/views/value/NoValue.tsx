import { formatCount, formatShare } from '../../lib/text/format';
import { nearestStep } from '../../model/run/step_list';
import { lastFiniteStep, nothingFinite } from '../../model/value/missing_values';
import type { Snapshot } from '../../model/wire/answers';
import { history } from '../../state/graph/node';
import { panelTab, view } from '../../state/page/choices';
import { histogramMode } from '../../state/page/preferences';
import { nonfiniteCount } from '../../state/problems/problems';
import { goToStep } from '../../state/steps';
import { slice, valueMode } from '../../state/tensors/value';
import { CodeBlock } from '../kit/CopyButton';
import { Message } from '../kit/Message';
import { escapeRegex } from '../panel/panel_notices';
import { ComputeOffer } from './ComputeOffer';
import { numbers } from './value_colours';

/** Says that there is no number, and what to look at instead. */
export function NothingFinite({ whole }: { whole: Snapshot }) {
  const sentence = nothingFinite(whole);
  if (sentence !== null) return <NoFiniteTensor whole={whole} sentence={sentence} />;
  const sliced = valueMode.value !== 'table' && slice.data.value !== null && numbers.value.length > 0;
  if (!sliced || whole.dtype === 'string' || numbers.value.some(Number.isFinite)) return null;
  const finite = whole.size - whole.nan - whole.pos_inf - whole.neg_inf;
  return (
    <div class="nothing-finite" role="status" data-testid="nothing-finite">
      <p>
        <b>No element of this slice is finite</b>; in the whole tensor, {formatShare(finite, whole.size)} are ({formatCount(finite)}{' '}
        elements). Choose another index, or see all of it:
      </p>
      <div class="row">
        <button type="button" class="button small" onClick={showHistogram}>
          Histogram of the whole tensor
        </button>
      </div>
    </div>
  );
}

function NoFiniteTensor({ whole, sentence }: { whole: Snapshot; sentence: string }) {
  const last = lastFiniteStep(history.data.value?.rows ?? [], whole.step);
  return (
    <div class="nothing-finite" role="status" data-testid="nothing-finite">
      <p>
        <b>{sentence}</b> Nothing to plot. Next steps:
      </p>
      <div class="row">
        {nonfiniteCount.value > 0 && (
          <button type="button" class="button small" onClick={explain} data-testid="look-origin">
            Root cause
          </button>
        )}
        {last !== null && (
          <button type="button" class="button small num" onClick={() => goToStep(last)} data-testid="look-finite">
            Step {last}, the {last < whole.step ? 'last' : 'next'} with finite elements
          </button>
        )}
        <button type="button" class="button small" onClick={showInputs}>
          Inputs of the node
        </button>
      </div>
    </div>
  );
}

function explain(): void {
  view.value = 'problems';
}

function showInputs(): void {
  panelTab.value = 'overview';
}

function showHistogram(): void {
  histogramMode.value = 'step';
  panelTab.value = 'histogram';
}

/** Only a summary exists: how to store values if that helps, else what happened to the value, and where there is one. */
export function NotKept({ row, kept }: { row: Snapshot; kept: number[] }) {
  const missing = row.no_value === 'summary' ? null : row.missing;
  const nearest = nearestStep(kept, row.step);
  const code = `tensortap.Watch(nodes=${JSON.stringify(escapeRegex(row.node))}, keep="value")`;
  return (
    <Message title={missing ? `The value was ${missing.happened}` : 'Values not stored (summary only)'} testid="not-kept">
      {missing ? (
        <p>
          {missing.why.charAt(0).toUpperCase() + missing.why.slice(1)}. {missing.fix}
        </p>
      ) : (
        <>
          <p>
            Counts, statistics and histogram of step {row.step} are stored,{' '}
            {Number.isNaN(row.size) ? 'its elements' : `its ${row.size.toLocaleString('en-US')} elements`} are not. To store them, use this
            watch:
          </p>
          <CodeBlock code={code} label="Copy code" />
        </>
      )}
      <ComputeOffer />
      {nearest !== null && (
        <div class="actions">
          <button type="button" class="button num" onClick={() => goToStep(nearest)}>
            Go to step {nearest}, with a stored value
          </button>
        </div>
      )}
    </Message>
  );
}
