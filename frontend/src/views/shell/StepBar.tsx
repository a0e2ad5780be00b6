import { useEffect } from 'preact/hooks';
import { counted, formatCount } from '../../lib/text/format';
import { halfWritten } from '../../model/run/step_list';
import { overlay } from '../../state/graph/graph';
import { stepRange } from '../../state/page/choices';
import { runDetail, runEntry, runPhase } from '../../state/runs';
import {
  allSteps,
  followable,
  following,
  playing,
  shownRange,
  step,
  stepBy,
  stepColumns,
  stepIndex,
  toggleFollowing,
} from '../../state/steps';
import { IconButton, Switch } from '../kit/Button';
import { HealthStrip } from './HealthStrip';

/** Moves along the steps: transport, health strip, and whether the page follows the run. */
export function StepBar() {
  usePlayback();
  const count = stepColumns.value.step.length;
  const live = runEntry.value?.live === true;
  const writing = halfWritten(stepColumns.value, stepIndex.value, live);
  return (
    <section class="stepbar" aria-label="Steps">
      <div class="transport">
        <IconButton icon="previous" label="Previous step (←)" onClick={() => stepBy(-1)} disabled={stepIndex.value <= 0} />
        <IconButton
          icon={playing.value ? 'pause' : 'play'}
          label={playing.value ? 'Pause (p)' : 'Play (p)'}
          onClick={togglePlay}
          disabled={count < 2}
        />
        <IconButton icon="next" label="Next step (→)" onClick={() => stepBy(1)} disabled={stepIndex.value >= count - 1} />
      </div>
      <div class="step-label num" data-testid="step-label" data-step={step.value ?? ''}>
        <b>{step.value === null ? '–' : `step ${step.value}`}</b>
        <span title={writing ? 'Still writing: fewer tensors than the previous step so far.' : stepsElsewhere()}>
          {writing ? 'still writing' : place(count)}
        </span>
      </div>
      <HealthStrip />
      <RangeChip />
      {followable.value && (
        <Switch
          label={live ? 'Live · Follow latest step' : 'Follow latest step'}
          on={following.value}
          onChange={toggleFollowing}
          title="Show each new step as it arrives"
          testid="follow"
        />
      )}
    </section>
  );
}

function place(count: number): string {
  if (count > 0) return `${formatCount(stepIndex.value + 1)} of ${formatCount(count)}${stepsElsewhere() ? ' in this graph' : ''}`;
  return runPhase.value === 'over' ? 'no steps' : 'no steps yet';
}

/** Says that the run has steps at which the current graph did not run. */
function stepsElsewhere(): string | undefined {
  const [run, graph] = [runDetail.value?.steps.step.length ?? 0, allSteps.value.step.length];
  return graph < run ? `This graph ran at ${formatCount(graph)} of the run's ${counted(run, 'step')}.` : undefined;
}

/** The selected range of steps, and a button to clear it. */
function RangeChip() {
  const range = shownRange.value;
  if (range === null) return null;
  return (
    <span class="chip accent range-chip num" data-testid="step-range">
      steps {range.first}–{range.last}
      <IconButton
        small
        icon="close"
        label="Show all steps"
        onClick={() => {
          stepRange.value = null;
        }}
      />
    </span>
  );
}

const FRAME_MS = 350;

/** While playing, advances one step at a time, after the current step has loaded. Stops at the last step. */
function usePlayback(): void {
  const on = playing.value;
  const arrived = overlay.data.value?.step === step.value || overlay.error.value !== null;
  const at = stepIndex.value;
  const last = stepColumns.value.step.length - 1;
  useEffect(() => {
    if (!on || !arrived) return;
    if (at >= last) {
      playing.value = false;
      return;
    }
    const timer = setTimeout(() => stepBy(1), FRAME_MS);
    return () => clearTimeout(timer);
  }, [on, arrived, at, last]);
}

/** At the end, play from the start. */
export function togglePlay(): void {
  if (!playing.value && stepIndex.value === stepColumns.value.step.length - 1) stepBy(-stepColumns.value.step.length);
  playing.value = !playing.value;
}
