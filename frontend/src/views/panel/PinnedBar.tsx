import { visible } from '../../lib/text/visible_text';
import { pinHere, pinText } from '../../model/run/pins';
import { chosenTensor, panelTab, pins } from '../../state/page/choices';
import { historyView } from '../../state/page/preferences';
import { namesOfRuns, runId, runs } from '../../state/runs';
import { selectTensor } from '../../state/selection';
import { step } from '../../state/steps';
import { comparedLabels, compareWith, isPinned, pinned, pinsFull, showSideBySide, togglePin } from '../../state/tensors/pins';
import { IconButton } from '../kit/Button';
import { Popover } from '../kit/Popover';

/** Pins or unpins the selected tensor. */
export function PinButton() {
  const tensor = chosenTensor.value;
  if (tensor === null) return null;
  const full = pinsFull.value && !isPinned.value;
  const label = full ? `At most ${pins.value.length} tensors can be pinned` : 'Pin, to compare its history (k)';
  return (
    <IconButton
      small
      icon="pin"
      label={isPinned.value ? 'Unpin (k)' : label}
      pressed={isPinned.value}
      disabled={full}
      onClick={() => togglePin(pinHere(tensor))}
      testid="pin"
    />
  );
}

/** The pinned tensors, one click away, and their histories side by side. */
export function PinnedBar() {
  // Also different from the name of the selected one.
  const names = comparedLabels.value;
  if (pins.value.length === 0) return null;
  return (
    <nav class="pinned" aria-label="Pinned tensors" data-testid="pinned">
      {pinned.value.map((pin, i) => {
        const here = pin.run === null && pin.step === null;
        return (
          <span class="chip pinned-chip" key={pinText(pin)} data-current={here && pin.tensor === chosenTensor.value}>
            <button type="button" class="truncate" onClick={() => selectTensor(pin.tensor)} title={here ? pin.tensor : names[i]}>
              {names[i]}
            </button>
            <IconButton small icon="close" label={`Unpin ${here ? pin.tensor : names[i]}`} onClick={() => togglePin(pin)} />
          </span>
        );
      })}
      <button type="button" class="button small" onClick={compare}>
        Compare
      </button>
      <button type="button" class="button small" onClick={showSideBySide} data-testid="show-side-by-side">
        Side by side
      </button>
    </nav>
  );
}

function compare(): void {
  if (historyView.value === 'one') historyView.value = 'overlay';
  if (chosenTensor.value === null) selectTensor(pinned.value[0]?.tensor ?? null);
  panelTab.value = 'history';
}

/** Runs that are offered; others are pinned once they are shown. */
const MOST_RUNS = 30;

/** Shows the selected tensor beside another step of it, or beside the same tensor of another run. */
export function CompareMenu() {
  const tensor = chosenTensor.value;
  if (tensor === null || step.value === null) return null;
  return (
    <Popover
      label="Compare"
      end
      trigger={(open, toggle) => (
        <IconButton
          small
          icon="columns"
          label={pinsFull.value ? 'No more tensors can be pinned' : 'Compare with another step or run'}
          onClick={toggle}
          pressed={open}
          disabled={pinsFull.value}
          testid="compare-with"
        />
      )}
    >
      {(close) => <CompareRows tensor={tensor} close={close} />}
    </Popover>
  );
}

function CompareRows({ tensor, close }: { tensor: string; close: () => void }) {
  const others = runs.value.filter(({ id }) => id !== runId.value).slice(0, MOST_RUNS);
  const go = (run: string | null, at: number | null) => () => {
    close();
    compareWith({ tensor, run, step: at });
  };
  return (
    <div class="menu">
      <button type="button" class="menu-row" onClick={go(null, step.value)} data-testid="compare-step">
        Pin step {step.value}
      </button>
      {others.map(({ id }) => (
        <button type="button" class="menu-row" key={id} onClick={go(id, null)} data-testid="compare-run">
          The same tensor of {visible(namesOfRuns.value.get(id) ?? id)}
        </button>
      ))}
    </div>
  );
}
