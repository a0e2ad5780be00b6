import { batch } from '@preact/signals';
import { NO_FILTER } from '../../model/run/tensor_table';
import { tableFilter as filter, stepRange, tableDisplay, tableRows } from '../../state/page/choices';
import { nothingCaptured } from '../../state/runs';
import { shownRange } from '../../state/steps';
import { tensorList } from '../../state/tensors/tensor_list';
import { Failure, Message } from '../kit/Message';
import { NothingCaptured } from '../shell/NothingCaptured';
import { HistogramWall } from './HistogramWall';
import { TableToolbar } from './TableToolbar';
import { TensorGrid } from './TensorGrid';

/** Table of all tensors of the current step, or of the snapshots of all steps. */
export function TensorTableView() {
  if (nothingCaptured.value) return <NothingCaptured />;
  const list = tensorList.data.value?.pages ?? null;
  const error = tensorList.error.value;
  if (list === null) return error ? <Refused error={error} /> : <div class="pane-body" />;
  return (
    <div class="pane-body table-view">
      <TableToolbar
        list={list}
        undecided={tensorList.data.value?.undecided ?? 0}
        refused={tensorList.data.value?.refused ?? error?.message ?? null}
      />
      {list.total === 0 ? <Nothing /> : tableDisplay.value === 'histograms' ? <HistogramWall list={list} /> : <TensorGrid list={list} />}
    </div>
  );
}

/** An invalid filter stays editable. */
function Refused({ error }: { error: Error }) {
  return (
    <div class="pane-body table-view">
      <TableToolbar list={null} undecided={0} refused={error.message} />
      <Failure error={error} retry={tensorList.reload} />
    </div>
  );
}

function Nothing() {
  const { match, where, opType, layer, nonfinite } = filter.value;
  if (match === '' && where === '' && opType === '' && layer === '' && !nonfinite) {
    return (
      <Message
        title={tableRows.value === 'all' ? 'No tensors of this graph were captured' : 'No tensors of this graph were captured at this step'}
      >
        <p>{tableRows.value === 'all' ? 'Choose another graph at the top.' : 'Change the step with ← and →.'}</p>
      </Message>
    );
  }
  return (
    <Message title="No tensors match">
      <div class="actions">
        <button
          type="button"
          class="button"
          onClick={() => {
            filter.value = NO_FILTER;
          }}
        >
          Clear the filter
        </button>
        {tableRows.value === 'step' && (
          <button type="button" class="button" onClick={searchAllSteps}>
            Search all steps
          </button>
        )}
      </div>
      {shownRange.value && <p class="faint">Only the selected step range was searched.</p>}
    </Message>
  );
}

function searchAllSteps(): void {
  batch(() => {
    tableRows.value = 'all';
    stepRange.value = null;
  });
}
