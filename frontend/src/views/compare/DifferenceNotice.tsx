import { view } from '../../state/choices';
import { comparison } from '../../state/compare/comparison';
import { isOtherSought } from '../../state/compare/manual_matches';
import { isOtherWorkerSought } from '../../state/compare/other_worker';
import { colourBy } from '../../state/graph';
import { runDetail } from '../../state/runs';

/** Above a graph that is to be coloured by the difference and is not: that it is being compared, or where it is said why not. */
export function DifferenceNotice() {
  if (colourBy.value.kind !== 'difference' || comparison.data.value?.comparison || runDetail.value === null) return null;
  const busy = comparison.loading.value || isOtherSought.value || isOtherWorkerSought.value;
  return (
    <div class="reading" role="status" data-testid="difference-notice">
      <span>{busy ? 'Comparing with B…' : 'Nothing is coloured: B cannot be compared.'}</span>
      <button
        type="button"
        class="button small"
        onClick={() => {
          view.value = 'compare';
        }}
      >
        {busy ? 'Show how far it is' : 'Show why'}
      </button>
    </div>
  );
}
