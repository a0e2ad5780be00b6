import { useState } from 'preact/hooks';
import { ApiError } from '../../api/provider';
import { chosenTensor, view } from '../../state/choices';
import { cancelComputing, computeTensor, computing, recordingOfStep, recordings, replayAllowed } from '../../state/replay';
import { goToStep, step } from '../../state/steps';

/** Where nothing was kept of a recorded step: computes it, or says how that would be allowed. */
export function ComputeOffer() {
  const [trouble, setTrouble] = useState<{ of: string; text: string } | null>(null);
  const [tensor, all] = [chosenTensor.value, recordings.data.value];
  if (tensor === null || all === null || all.recordings.length === 0) return null;
  if (view.value === 'stepper') return <p>In the stepper, too, it has no value that can be shown, or did not run.</p>;
  if (recordingOfStep.value === null) return <OtherSteps steps={[...new Set(all.recordings.map((each) => each.step))]} />;
  if (!replayAllowed.value) {
    return (
      <p class="faint" data-testid="compute-not-allowed">
        Step {step.value} was recorded: <code>tensortap serve LOGDIR --allow-replay</code> computes it here, <code>tensortap replay</code>{' '}
        in a terminal.
      </p>
    );
  }
  const compute = async () => {
    setTrouble(null);
    try {
      await computeTensor(tensor);
    } catch (error) {
      setTrouble({ of: tensor, text: error instanceof ApiError ? `${error.message} ${error.hint}` : String(error) });
    }
  };
  return (
    <>
      <p>Step {step.value} was recorded, so that this tensor can be computed.</p>
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
      {trouble?.of === tensor && <p role="alert">{trouble.text}</p>}
    </>
  );
}

function OtherSteps({ steps }: { steps: readonly number[] }) {
  const near = [...steps].sort((a, b) => Math.abs(a - (step.value ?? 0)) - Math.abs(b - (step.value ?? 0)))[0];
  if (near === undefined) return null;
  return (
    <p class="faint">
      This step was not recorded.{' '}
      <button type="button" class="link" onClick={() => goToStep(near)}>
        Step {near}
      </button>{' '}
      was: its tensors can be computed.
    </p>
  );
}
