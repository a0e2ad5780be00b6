import { shortNames } from '../../model/charts/compared_histories';
import { chosenTensor, panelTab, pins } from '../../state/choices';
import { historyView } from '../../state/preferences';
import { selectTensor } from '../../state/selection';
import { comparedTensors, isPinned, pinsFull, togglePin } from '../../state/tensors/pins';
import { maximisePanel } from '../../state/ui';
import { IconButton } from '../kit/Button';

/** Pins the selected tensor, or lets go of it. */
export function PinButton() {
  const tensor = chosenTensor.value;
  if (tensor === null) return null;
  const full = pinsFull.value && !isPinned.value;
  const label = full ? `No more than ${pins.value.length} can be pinned` : 'Pin, to compare its history (k)';
  return (
    <IconButton
      small
      icon="pin"
      label={isPinned.value ? 'Unpin (k)' : label}
      pressed={isPinned.value}
      disabled={full}
      onClick={() => togglePin(tensor)}
      testid="pin"
    />
  );
}

/** The pinned tensors, one click away, and their histories side by side. */
export function PinnedBar() {
  // Told apart from the selected one too.
  const names = shortNames(comparedTensors.value);
  if (pins.value.length === 0) return null;
  return (
    <nav class="pinned" aria-label="Pinned tensors" data-testid="pinned">
      {pins.value.map((tensor, i) => (
        <span class="chip pinned-chip" key={tensor} data-current={tensor === chosenTensor.value}>
          <button type="button" class="truncate" onClick={() => selectTensor(tensor)} title={tensor}>
            {names[i]}
          </button>
          <IconButton small icon="close" label={`Unpin ${tensor}`} onClick={() => togglePin(tensor)} />
        </span>
      ))}
      <button type="button" class="button small" onClick={compare}>
        Compare
      </button>
      <button type="button" class="button small" onClick={showSideBySide} data-testid="show-side-by-side">
        Side by side
      </button>
    </nav>
  );
}

/** The numbers of all of them at the step on show, in the enlarged panel. */
function showSideBySide(): void {
  if (chosenTensor.value === null) selectTensor(pins.value[0] ?? null);
  panelTab.value = 'overview';
  maximisePanel(true);
}

function compare(): void {
  if (historyView.value === 'one') historyView.value = 'overlay';
  if (chosenTensor.value === null) selectTensor(pins.value[0] ?? null);
  panelTab.value = 'history';
}
