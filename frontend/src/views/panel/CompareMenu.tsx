import { visible } from '../../lib/text/visible_text';
import { chosenTensor } from '../../state/page/choices';
import { namesOfRuns, runId, runs } from '../../state/runs';
import { step } from '../../state/steps';
import { compareWith, pinsFull } from '../../state/tensors/pins';
import { IconButton } from '../kit/Button';
import { Popover } from '../kit/Popover';

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
        Keep step {step.value} beside the current step
      </button>
      {others.map(({ id }) => (
        <button type="button" class="menu-row" key={id} onClick={go(id, null)} data-testid="compare-run">
          The same tensor of {visible(namesOfRuns.value.get(id) ?? id)}
        </button>
      ))}
    </div>
  );
}
