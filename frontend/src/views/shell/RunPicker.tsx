import { batch } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { counted, formatAgo } from '../../lib/text/format';
import type { RunEntry } from '../../model/wire/answers';
import { inSeveralLogdirs, writingState } from '../../model/wire/names';
import { reloadRuns } from '../../state/live';
import { chosenGraph, chosenRun, chosenStep, chosenVisit, chosenWorker, openScopes, resetTimeline } from '../../state/page/choices';
import { runEntry, runId, runName, runs } from '../../state/runs';
import { LongName } from '../kit/LongName';
import { Popover } from '../kit/Popover';
import { PickerButton, SearchList } from './Picker';

/** Another run keeps the selected tensor, to compare the same node; graph, worker, step and iteration are reset. */
export function showRun(id: string): void {
  batch(() => {
    chosenRun.value = id;
    chosenGraph.value = null;
    chosenWorker.value = null;
    chosenStep.value = null;
    chosenVisit.value = null;
    openScopes.value = null;
    resetTimeline();
  });
}

export function RunPicker() {
  const entry = runEntry.value;
  const name = runName.value ?? runId.value ?? 'No run';
  return (
    <div class="picker">
      <Popover
        label="Runs"
        className="run-popover"
        trigger={(open, toggle) => (
          <PickerButton
            label="Run"
            name={name}
            open={open}
            toggle={toggle}
            testid="run-picker"
            before={<span class="live-dot" data-live={entry?.live === true} />}
          />
        )}
      >
        {(close) => <RunMenu close={close} />}
      </Popover>
    </div>
  );
}

function RunMenu({ close }: { close: () => void }) {
  useEffect(() => void reloadRuns(), []);
  const several = inSeveralLogdirs(runs.value);
  const placeOf = (run: RunEntry) => (several ? run.logdir : undefined);
  return (
    <SearchList
      noun="runs"
      rows={runs.value}
      textOf={(run) => `${placeOf(run) ?? ''}/${run.name}`}
      choose={({ id }) => {
        showRun(id);
        close();
      }}
      testid="run-list"
    >
      {(run, onClick) => <RunRow key={run.id} run={run} place={placeOf(run)} onClick={onClick} />}
    </SearchList>
  );
}

const STATES = {
  closed: 'Finished',
  live: 'Running',
  'not closed': 'Stalled or crashed (no data recently)',
};

/** `place` is the log directory, where there are several. */
function RunRow({ run, place, onClick }: { run: RunEntry; place: string | undefined; onClick: () => void }) {
  const when = run.last_time ?? run.created;
  const state = writingState(run);
  const detail =
    run.error ??
    `${place === undefined ? '' : `${place} · `}${state === 'not closed' ? 'not closed · ' : ''}${counted(run.steps.count, 'step')} · ${counted(run.snapshots, 'snapshot')} · ${counted(run.nodes, 'node')}`;
  return (
    <button
      type="button"
      class="picker-row"
      onClick={onClick}
      data-testid="run-row"
      data-run={run.id}
      data-selected={run.id === runId.value}
    >
      <span class="live-dot" data-live={run.live} title={STATES[state]} />
      <LongName name={run.name} />
      <span class="row">
        {(run.nonfinite ?? 0) > 0 && <span class="chip nan">NaN/Inf</span>}
        <span class="faint num">{formatAgo(when, Date.now() / 1000)}</span>
      </span>
      <span class="detail truncate num">{detail}</span>
    </button>
  );
}
