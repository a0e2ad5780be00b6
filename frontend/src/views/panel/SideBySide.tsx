import { shortNames } from '../../model/history_compare';
import { chosenTensor, panelTab, pins } from '../../state/choices';
import { comparedTensors, togglePin } from '../../state/pins';
import { selectTensor } from '../../state/selection';
import { type PinnedColumn, pinnedColumns } from '../../state/side_by_side';
import { step } from '../../state/steps';
import { IconButton } from '../kit/Button';
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
        {pins.value.includes(tensor) && <IconButton small icon="close" label={`Unpin ${tensor}`} onClick={() => togglePin(tensor)} />}
      </header>
      {row ? (
        <SummaryCard row={row} histogram={found.histogram} onHistogram={() => showHistograms(tensor)} />
      ) : (
        <div class="summary-card loading faint">{found && `Not captured at step ${step.value}.`}</div>
      )}
    </section>
  );
}

function showHistograms(tensor: string): void {
  selectTensor(tensor);
  panelTab.value = 'histogram';
}
