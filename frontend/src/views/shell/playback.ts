import { useEffect } from 'preact/hooks';
import { overlay } from '../../state/graph';
import { playing, step, stepBy, stepColumns, stepIndex } from '../../state/steps';

const FRAME_MS = 350;

/** While playing, moves on one step at a time, but never before the step on show has arrived. Stops at the last step. */
export function usePlayback(): void {
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

/** Play from the start again where the end was reached. */
export function togglePlay(): void {
  if (!playing.value && stepIndex.value === stepColumns.value.step.length - 1) stepBy(-stepColumns.value.step.length);
  playing.value = !playing.value;
}
