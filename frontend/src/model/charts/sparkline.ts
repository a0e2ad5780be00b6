import type { Trend } from '../wire/answers';

/** A trend as a line in a box: gaps where nothing was finite, single places as dots, and where the bad steps stand. */
export interface SparklineShape {
  path: string;
  dots: [number, number][];
  bad: number[];
  low: number;
  high: number;
}

const MARGIN = 2;

export function sparkline({ step, value, bad }: Trend, width: number, height: number): SparklineShape {
  const finite = value.filter(Number.isFinite);
  const [low, high] = finite.length === 0 ? [Number.NaN, Number.NaN] : [Math.min(...finite), Math.max(...finite)];
  const first = step[0] ?? 0;
  const span = (step[step.length - 1] ?? 0) - first;
  const x = (i: number) => round(span === 0 ? width / 2 : MARGIN + ((width - 2 * MARGIN) * ((step[i] as number) - first)) / span);
  const y = (v: number) => round(high > low ? height - 3 - (height - 5) * ((v - low) / (high - low)) : height / 2);
  let path = '';
  const dots: [number, number][] = [];
  const known = (i: number) => Number.isFinite(value[i] ?? Number.NaN);
  value.forEach((v, i) => {
    if (!known(i)) return;
    if (!known(i - 1) && !known(i + 1)) dots.push([x(i), y(v)]);
    else path += `${known(i - 1) ? 'L' : 'M'}${x(i)} ${y(v)}`;
  });
  return { path, dots, bad: step.flatMap((_, i) => (bad[i] ? [x(i)] : [])), low, high };
}

const round = (pixels: number) => Math.round(pixels * 10) / 10;
