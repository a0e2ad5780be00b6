import { useEffect, useMemo } from 'preact/hooks';
import { Pace } from '../../lib/scheduling';

/** Does something whenever its inputs have changed, at a pace (lib/pace.ts). */
export function usePaced(act: () => void, inputs: readonly unknown[]): void {
  const pace = useMemo(() => new Pace(), []);
  useEffect(() => pace.run(act), inputs);
  useEffect(() => () => pace.cancel(), []);
}
