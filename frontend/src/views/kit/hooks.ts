/** Hooks: the size of an element, and work that is done at most every 100 ms. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Throttle } from '../../lib/scheduling';

/** The content size of an element in CSS pixels, kept up to date. */
export function useSize<T extends HTMLElement>() {
  const ref = useRef<T>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setSize({ width: element.clientWidth, height: element.clientHeight }));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { ref, ...size };
}

/** Does something whenever its inputs have changed, at a throttle (lib/scheduling.ts). */
export function useThrottled(act: () => void, inputs: readonly unknown[]): void {
  const throttle = useMemo(() => new Throttle(), []);
  useEffect(() => throttle.run(act), inputs);
  useEffect(() => () => throttle.cancel(), []);
}
