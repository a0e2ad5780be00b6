import type { Trace } from '../../lib/plotly';
import { alone, drawnOrder, inOrder } from '../../model/charts/history_series';

/** Fewer steps than these have a dot each. */
const FEW_STEPS = 40;

export const hasDots = (steps: readonly number[]) => steps.length < FEW_STEPS;

/** A line over steps that ends where steps are missing; what no line reaches is a dot.
 * @param y where it is drawn. values: what is read off. dots: at every step */
export function course(steps: readonly number[], y: readonly number[], values: readonly number[], colour: string, dots: boolean): Trace {
  const order = drawnOrder(steps);
  const drawn = inOrder(order, y);
  const lonely = alone(drawn);
  return {
    x: inOrder(order, steps),
    y: drawn,
    customdata: inOrder(order, values),
    mode: dots || lonely.includes(true) ? 'lines+markers' : 'lines',
    marker: { size: dots ? 4 : lonely.map((shown) => (shown ? 4 : 0)), color: colour },
  };
}
