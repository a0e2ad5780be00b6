import { chosenVisit } from '../../state/choices';
import { visits } from '../../state/node';

/** Which visits a chart over steps is of, where there are several in a step. */
export function VisitNote() {
  const chosen = chosenVisit.value;
  if (chosen === null) return visits.value.length > 1 ? <>All {visits.value.length} visits of each step: choose one above. </> : null;
  if (chosen === 0 && visits.value.length < 2) return null;
  const all = () => {
    chosenVisit.value = null;
  };
  return (
    <>
      Visit {chosen} of each step (
      <button type="button" class="link" onClick={all} data-testid="all-visits">
        show all visits
      </button>
      ).{' '}
    </>
  );
}
