/** Where steps were not captured: a line over steps ends there, as nobody measured what lies between. */

/** Longer than the usual distance by more than this factor. */
const MANY_TIMES = 8;
/** With fewer distances none is the usual one. */
const FEWEST = 3;

/** The order in which entries are drawn: their places, and a -1 where steps are missing between two of them.
 * @param steps ascending */
export function drawnOrder(steps: readonly number[]): number[] {
  const distances = steps.slice(1).map((step, i) => step - (steps[i] as number));
  const usual = distances.length < FEWEST ? Number.POSITIVE_INFINITY : lowerMedian(distances);
  return steps.flatMap((_, i) => ((distances[i - 1] ?? 0) > MANY_TIMES * usual ? [-1, i] : [i]));
}

function lowerMedian(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) / 2)] as number;
}

/** A column in that order, NaN where a line ends. */
export function inOrder(order: readonly number[], column: readonly number[]): number[] {
  return order.map((i) => (i < 0 ? Number.NaN : (column[i] as number)));
}

/** Which numbers no line reaches, as neither neighbour is one. */
export function alone(column: readonly number[]): boolean[] {
  const known = (i: number) => Number.isFinite(column[i]);
  return column.map((_, i) => known(i) && !known(i - 1) && !known(i + 1));
}

/** The outline of the area between two columns: a closed one for each run of steps that has both, parted by NaN. */
export function outline(x: readonly number[], low: readonly number[], high: readonly number[]): { x: number[]; y: number[] } {
  const out = { x: [] as number[], y: [] as number[] };
  let run: number[] = [];
  const close = () => {
    if (run.length > 1) {
      const back = [...run].reverse();
      out.x.push(...[...run, ...back].map((i) => x[i] as number), Number.NaN);
      out.y.push(...run.map((i) => low[i] as number), ...back.map((i) => high[i] as number), Number.NaN);
    }
    run = [];
  };
  for (let i = 0; i < x.length; i++) {
    if (Number.isFinite(low[i]) && Number.isFinite(high[i])) run.push(i);
    else close();
  }
  close();
  return out;
}
