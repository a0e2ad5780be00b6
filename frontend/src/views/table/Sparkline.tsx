import { formatNumber } from '../../lib/format';
import { sparkline } from '../../model/charts/sparkline';
import type { Trend } from '../../model/wire/answers';

export const SPARK = { width: 76, height: 18 };

/** A statistic of the tensor over all its steps, small; red where it had a NaN or Inf. */
export function Sparkline({ trend, name }: { trend: Trend; name: string }) {
  const { path, dots, bad, low, high } = sparkline(trend, SPARK.width, SPARK.height);
  const span = Number.isNaN(low) ? 'nothing finite' : `${formatNumber(low)} … ${formatNumber(high)}`;
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
