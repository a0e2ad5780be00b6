import { formatCount } from '../../lib/format';
import { view } from '../../state/choices';
import { batch, batchSteps, triggers, triggersHere } from '../../state/problems/events';
import { step } from '../../state/steps';

/** What happened at the step on show: triggers that fired, and how many samples of which files fed it. */
export function StepSection() {
  const fired = triggersHere.value;
  const samples = batch.data.value ?? [];
  if (step.value === null || (triggers.value.length === 0 && batchSteps.value === 0)) return null;
  const files = new Set(samples.flatMap((entry) => entry.files ?? []));
  const count = samples.reduce((sum, entry) => sum + entry.count, 0);
  return (
    <section class="section step-section" aria-label="This step" data-testid="step-section" data-step={step.value}>
      <h3>Step {step.value}</h3>
      {fired.map(({ trigger, reason, time }) => (
        <button type="button" class="panel-alert" key={`${trigger} ${time}`} onClick={showEvents}>
          <b>{trigger} fired</b>
          <span>{reason}</span>
        </button>
      ))}
      {batchSteps.value > 0 && (
        <p>
          {count === 0 ? 'Which samples fed it was not noted.' : `Fed by ${formatCount(count)} samples`}
          {count > 0 && files.size > 0 && ` out of ${formatCount(files.size)} ${files.size === 1 ? 'file' : 'files'}`}
        </p>
      )}
      <button type="button" class="button small" onClick={showEvents}>
        Events and samples
      </button>
    </section>
  );
}

function showEvents(): void {
  view.value = 'events';
}
