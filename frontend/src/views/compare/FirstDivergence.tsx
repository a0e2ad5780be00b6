import { shortFile } from '../../lib/format';
import { visible } from '../../lib/visible_text';
import { type Comparison, earlierThan } from '../../model/wire/comparison';
import { comparison } from '../../state/compare/comparison';
import { showDifference } from './CompareTable';

/** Where the difference begins, why, what it takes, and the lines that made it. */
export function FirstDivergence({ first }: { first: NonNullable<Comparison['first']> }) {
  const entry = first.difference;
  const earlier = earlierThan(entry, comparison.data.value?.rows ?? []);
  const at = first.title.lastIndexOf(entry.tensor);
  return (
    <div class="compare-first" data-testid="first-divergence" data-tensor={entry.tensor}>
      <p>
        {visible(first.title.slice(0, at))}
        <button type="button" class="link-name" onClick={() => showDifference(entry)}>
          {visible(entry.tensor)}
        </button>
        <span class="faint">{visible(first.title.slice(at + entry.tensor.length))}</span>
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
      <p class="faint num">{entry.distance}</p>
      {first.inputs.map((input) => (
        <p key={input.tensor} class="faint num">
          input{' '}
          <button type="button" class="link-name" onClick={() => showDifference(input)}>
            {visible(input.tensor)}
          </button>
          : {input.distance}
        </p>
      ))}
      <Line side="A" frame={first.frame} />
      <Line side="B" frame={first.frame_b} />
    </div>
  );
}

function Line({ side, frame }: { side: string; frame: { file: string; line: number; text: string | null } | null }) {
  if (frame === null) return null;
  return (
    <p class="compare-source">
      {side}: <code title={visible(frame.file)}>{`${visible(shortFile(frame.file))}:${frame.line}`}</code>{' '}
      <code>{visible(frame.text ?? '')}</code>
    </p>
  );
}
