import { recordedWords } from '../../model/run/nothing_captured';
import { view } from '../../state/choices';
import { recordedSteps, replayAllowed } from '../../state/replay/replay';

/** That steps were recorded, and the way to what can be computed of them; nothing where none was. */
export function Recorded() {
  const words = recordedWords(recordedSteps.value, replayAllowed.value);
  if (words === null) return null;
  return (
    <span data-testid="recorded">
      {words.recorded}:{' '}
      <button type="button" class="link" onClick={openStepper}>
        the Stepper
      </button>{' '}
      {words.stepper}.
    </span>
  );
}

function openStepper(): void {
  view.value = 'stepper';
}
