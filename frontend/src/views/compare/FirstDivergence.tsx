import { counted } from '../../lib/format';
import { visible } from '../../lib/visible_text';
import { type Comparison, earlierThan, isBound, metricOf, nonfiniteApart, type TensorDifference } from '../../model/wire/comparison';
import { comparison } from '../../state/compare/comparison';
import { metricText, showDifference } from './CompareTable';

/** Where the difference begins, why, what it takes, and the lines that made it. */
export function FirstDivergence({ first }: { first: NonNullable<Comparison['first']> }) {
  const entry = first.difference;
  const earlier = earlierThan(entry, comparison.data.value?.rows ?? []);
  const visit = entry.visits > 1 ? `, iteration ${entry.visit}` : '';
  return (
    <div class="compare-first" data-testid="first-divergence" data-tensor={entry.tensor}>
      <p>
        First divergence: {first.extra && `${visible(first.extra)}; of what both have, at `}
        <button type="button" class="link-name" onClick={() => showDifference(entry)}>
          {visible(entry.tensor)}
        </button>{' '}
        <span class="faint">
          ({entry.op_type}
          {visit})
        </span>
      </p>
      <p>{first.text}</p>
      {earlier && (
        <p class="faint" data-testid="compare-earlier">
          <button type="button" class="link-name" onClick={() => showDifference(earlier)}>
            {visible(earlier.tensor)}
          </button>
          , earlier in the graph, diverges independently.
        </p>
      )}
      <p class="faint num">{distance(entry)}</p>
      {first.inputs.map((input) => (
        <p key={input.tensor} class="faint num">
          input{' '}
          <button type="button" class="link-name" onClick={() => showDifference(input)}>
            {visible(input.tensor)}
          </button>
          : {input.verdict === 'same' ? 'identical' : distance(input)}
        </p>
      ))}
      <Line side="A" frame={first.frame} />
      <Line side="B" frame={first.frame_b} />
    </div>
  );
}

function distance(entry: TensorDifference): string {
  if (entry.basis === 'shapes') return `[${entry.shape_a.join(', ')}] in A, [${entry.shape_b.join(', ')}] in B`;
  const bound = isBound(entry) ? 'at least ' : '';
  if (nonfiniteApart(entry) > 0) return `${bound}NaN/Inf differs in ${counted(nonfiniteApart(entry), 'element')}`;
  const [apart, scale] = [metricText(metricOf(entry, 'max_abs')), metricText(metricOf(entry, 'scale'))];
  if (apart === '') return entry.verdict;
  return `max |A−B| ${bound || '= '}${apart} (max |x| = ${scale}; rounding allows ${metricText(Number(entry.limit))} of it)`;
}

function Line({ side, frame }: { side: string; frame: { file: string; line: number; text: string | null } | null }) {
  if (frame === null) return null;
  return (
    <p class="compare-source">
      {side}: <code>{`${visible(frame.file)}:${frame.line}`}</code> <code>{visible(frame.text ?? '')}</code>
    </p>
  );
}
