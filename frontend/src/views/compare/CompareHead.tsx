import { compareAt, otherRun, otherStep } from '../../state/choices';
import { equalShown, reportHref } from '../../state/comparison';
import { otherRunId } from '../../state/hand_matches';
import { runEntry, runs } from '../../state/runs';
import { step } from '../../state/steps';
import { Select, Switch } from '../kit/Button';

/** What is compared: run A is the page's, run B and the steps are chosen here. */
export function CompareHead() {
  return (
    <div class="compare-head">
      <span class="row">
        <span class="faint">A</span>
        <b class="truncate">{runEntry.value?.name}</b>
      </span>
      <Select
        label="B"
        value={otherRunId.value ?? ''}
        onChange={(id) => {
          otherRun.value = id;
        }}
        testid="compare-run"
      >
        {runs.value.map((run) => (
          <option key={run.id} value={run.id}>
            {run.name}
          </option>
        ))}
      </Select>
      <Select
        label="At"
        value={compareAt.value}
        onChange={(at) => {
          compareAt.value = at === 'step' ? 'step' : 'first';
        }}
        testid="compare-at"
      >
        <option value="first">the first step that differs</option>
        <option value="step">step {step.value ?? ''}, on show</option>
      </Select>
      {compareAt.value === 'step' && <StepOfB />}
      <span class="row compare-actions">
        <Switch
          label="All"
          on={equalShown.value}
          onChange={() => {
            equalShown.value = !equalShown.value;
          }}
          title="List tensors that are equal or apart by rounding, too"
          testid="compare-equal"
        />
        {reportHref.value !== null && (
          <a class="button small" href={reportHref.value} download="difference.html" data-testid="compare-report">
            Report
          </a>
        )}
      </span>
    </div>
  );
}

function StepOfB() {
  return (
    <label class="labelled">
      <span>step of B</span>
      <input
        class="field small"
        type="number"
        min="0"
        placeholder={String(step.value ?? '')}
        value={otherStep.value ?? ''}
        onChange={(event) => {
          const text = event.currentTarget.value;
          otherStep.value = /^\d{1,15}$/.test(text) ? Number(text) : null;
        }}
        data-testid="compare-step-b"
      />
    </label>
  );
}
