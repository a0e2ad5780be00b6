import { formatCount } from '../../lib/format';
import { sampleText } from '../../model/value/sample';
import type { Snapshot } from '../../model/wire/answers';

/** Says that only a part of the value was kept, and which. */
export function SampleNote({ whole }: { whole: Snapshot }) {
  if (!whole.sample) return null;
  const kept = Math.min(whole.sample.count, whole.size);
  return (
    <p class="sample-note" data-testid="sampled">
      <span class="chip">sample</span>
      <span>
        {formatCount(kept)} of {formatCount(whole.size)} elements were kept, {sampleText(whole.sample)}; they stand in one dimension here.
        Counts, statistics and histograms are those of the whole.
      </span>
    </p>
  );
}
