import { useState } from 'preact/hooks';
import { ApiError } from '../../api/provider';
import { indexOfStep, nearestStep } from '../../model/run/step_list';
import { chosenTensor, view } from '../../state/page/choices';
import {
  cancelComputing,
  computeTensor,
  computing,
  recordedSteps,
  recordingOfStep,
  recordings,
  replayAllowed,
} from '../../state/replay/replay';
import { allSteps, goToStep, step } from '../../state/steps';
import { Recorded } from '../shell/NothingCaptured';

/** Without a stored value of a recorded step: computes it, or says how to allow that. */
export function ComputeOffer() {
  const [failure, setFailure] = useState<{ of: string; text: string } | null>(null);
  const [tensor, all, at] = [chosenTensor.value, recordings.data.value, recordingOfStep.value];
  if (tensor === null || all === null || all.recordings.length === 0) return null;
  if (view.value === 'stepper') return <p>Replay has no value either: the node did not run, or its value cannot be shown.</p>;
  if (at === null) return <OtherSteps />;
  if (!replayAllowed.value) {
    return (
      <p class="faint" data-testid="compute-not-allowed">
        Step {at.step} was recorded. To compute this value, use <code>tensortap serve LOGDIR --allow-replay</code>, or{' '}
        <code>tensortap replay</code> in a terminal.
      </p>
    );
  }
  const compute = async () => {
    setFailure(null);
    try {
      await computeTensor(tensor);
    } catch (error) {
      setFailure({ of: tensor, text: error instanceof ApiError ? `${error.message} ${error.hint}` : String(error) });
    }
  };
  return (
    <>
      <p>Step {at.step} was recorded, so this tensor can be computed.</p>
      <div class="actions">
        <button
          type="button"
          class="button primary"
          disabled={computing.value !== null}
          onClick={() => void compute()}
          data-testid="compute"
        >
          {computing.value === null ? 'Compute' : `${computing.value}…`}
        </button>
        {computing.value !== null && (
          <button type="button" class="button" onClick={() => void cancelComputing()}>
            Cancel
          </button>
        )}
      </div>
      {failure?.of === tensor && <p role="alert">{failure.text}</p>}
    </>
  );
}

/** Only a step with snapshots can be shown here; Replay shows any that was recorded. */
function OtherSteps() {
  const shown = recordedSteps.value.filter((each) => indexOfStep(allSteps.value.step, each) >= 0);
  const near = nearestStep(shown, step.value ?? 0);
  return (
    <p class="faint">
      Cannot recompute: step not recorded.{' '}
      {near === null ? (
        <Recorded />
      ) : (
        <>
          <button type="button" class="link" onClick={() => goToStep(near)}>
            Step {near}
          </button>{' '}
          was: its tensors can be computed.
        </>
      )}
    </p>
  );
}
