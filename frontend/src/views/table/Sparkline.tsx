import { formatNumber } from '../../lib/text/format';
import type { Trend } from '../../model/wire/answers';

const SPARK = { width: 76, height: 18 };

/** Sparkline of a statistic of the tensor over its steps; red at NaN or Inf. */
export function Sparkline({ trend, name }: { trend: Trend; name: string }) {
  const { path, dots, bad, low, high } = sparkline(trend, SPARK.width, SPARK.height);
  const span = Number.isNaN(low) ? 'no finite elements' : `${formatNumber(low)} … ${formatNumber(high)}`;
  const steps = `steps ${trend.step[0]}–${trend.step[trend.step.length - 1]}`;
  const text = `${name} over ${steps}: ${span}${bad.length > 0 ? ', with NaN or Inf' : ''}`;
  return (
    <svg class="sparkline" viewBox={`0 0 ${SPARK.width} ${SPARK.height}`} role="img" aria-label={text}>
      <title>{text}</title>
      <path d={path} />
      {dots.map(([x, y]) => (
        <circle key={x} cx={x} cy={y} r="1.6" />
      ))}
      {bad.map((x) => (
        <rect key={x} class="bad" x={x - 1.2} y={SPARK.height - 3} width="2.4" height="3" />
      ))}
    </svg>
  );
}

/** A trend as a line in a box: gaps where nothing was finite, isolated points as dots, and marks at bad steps. */
interface SparklineShape {
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
