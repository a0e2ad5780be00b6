import { batch } from '@preact/signals';
import { counted } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import type { WorkerEntry } from '../../model/wire/answers';
import { byRank, workerName } from '../../model/wire/names';
import { equalShown, reportHref } from '../../state/compare/comparison';
import { otherRunId } from '../../state/compare/manual_matches';
import { otherWorkers, ownWorkerMissing } from '../../state/compare/other_worker';
import { chosenWorker, compareAt, otherRun, otherStep, otherWorker } from '../../state/page/choices';
import { namesOfRuns, runDetail, runId, runName, runs, workerId } from '../../state/runs';
import { step } from '../../state/steps';
import { Select, Switch } from '../kit/Button';

/** The compared sides: run A and its worker are the page's; run B, its worker and the steps are chosen here. */
export function CompareHead() {
  return (
    <div class="compare-head">
      <span class="row">
        <span class="faint">A</span>
        <b class="truncate">{runName.value}</b>
      </span>
      <WorkerSelect
        side="A"
        workers={runDetail.value?.workers ?? []}
        chosen={ownWorkerMissing.value ?? workerId.value}
        choose={(id) => {
          chosenWorker.value = id;
        }}
        none="the first worker"
      />
      <Select label="B" value={otherRunId.value ?? ''} onChange={chooseOther} testid="compare-run">
        {runs.value.map((run) => (
          <option key={run.id} value={run.id}>
            {namesOfRuns.value.get(run.id)}
          </option>
        ))}
      </Select>
      <WorkerSelect
        side="B"
        workers={otherWorkers.value}
        chosen={otherWorker.value}
        choose={(id) => {
          otherWorker.value = id;
        }}
        none={otherRunId.value === runId.value ? 'same as A' : 'the first worker'}
      />
      <Select
        label="At"
        value={compareAt.value}
        onChange={(at) => {
          compareAt.value = at === 'step' ? 'step' : 'first';
        }}
        testid="compare-at"
      >
        <option value="first">first difference</option>
        <option value="step">current step ({step.value ?? ''})</option>
      </Select>
      {compareAt.value === 'step' && <StepOfB />}
      <span class="row compare-actions">
        <Switch
          label="Show matching tensors"
          on={equalShown.value}
          onChange={() => {
            equalShown.value = !equalShown.value;
          }}
          title="Also list tensors that are equal or within rounding"
          testid="compare-equal"
        />
        {reportHref.value !== null && (
          <a class="button small" href={reportHref.value} download data-testid="compare-report">
            Export HTML report
          </a>
        )}
      </span>
    </div>
  );
}

/** Another run has other workers. */
function chooseOther(id: string): void {
  batch(() => {
    otherRun.value = id;
    otherWorker.value = null;
  });
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

interface WorkerSelectProps {
  side: 'A' | 'B';
  workers: readonly WorkerEntry[];
  chosen: string | null;
  choose: (worker: string | null) => void;
  /** Label of the default choice. */
  none: string;
}

/** The compared worker of a run; nothing if there is only one, unless another one was requested. */
function WorkerSelect({ side, workers, chosen, choose, none }: WorkerSelectProps) {
  const lost = chosen !== null && !workers.some((worker) => worker.id === chosen);
  if (workers.length < 2 && !lost) return null;
  return (
    <Select
      label={`worker of ${side}`}
      value={chosen ?? ''}
      onChange={(id) => choose(id === '' ? null : id)}
      testid={`compare-worker-${side.toLowerCase()}`}
    >
      <option value="">{none}</option>
      {lost && <option value={chosen}>{visible(chosen)}</option>}
      {byRank(workers).map((worker) => (
        <option key={worker.id} value={worker.id} title={`${worker.host}, pid ${worker.pid}, ${counted(worker.snapshots, 'snapshot')}`}>
          {visible(workerName(worker.id, workers))}
        </option>
      ))}
    </Select>
  );
}
