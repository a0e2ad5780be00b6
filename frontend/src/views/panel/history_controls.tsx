import type { PlotEvent } from '../../lib/plotly';
import { brushed } from '../../model/charts/compared_histories';
import { stepRange } from '../../state/choices';
import { historyLog } from '../../state/preferences';
import { allSteps } from '../../state/steps';
import { Switch } from '../kit/Button';

/** What charts of histories share. */
export function LogSwitch() {
  return (
    <Switch
      label="Log scale"
      on={historyLog.value}
      onChange={() => {
        historyLog.value = !historyLog.value;
      }}
      title="Logarithmic axes, on both sides of zero"
    />
  );
}

/** A drag over steps restricts the page to them. */
export function brush(range: [number, number] | null): void {
  if (range === null) stepRange.value = null;
  else stepRange.value = brushed(allSteps.peek().step, ...range) ?? stepRange.peek();
}

export const stepOf = (event: PlotEvent) => Number(event.points[0]?.x);
