import { visible } from '../../lib/visible_text';
import { proofOf } from '../../model/wire/replay';
import { chosenTensor, view } from '../../state/choices';
import { captured } from '../../state/node';
import { computedPlace, forgetTensor } from '../../state/replay/replay';

/** Says that the numbers below were computed and not captured, and how far they are proven. */
export function ComputedBadge() {
  const place = computedPlace.value;
  if (place === null) return null;
  const proof = proofOf(place.computed, chosenTensor.value);
  const whatIf = place.whatIf === null ? null : visible(place.whatIf);
  return (
    <p class="computed-badge" data-proven={place.whatIf === null && proof.proven} data-testid="computed-badge">
      <b>{whatIf ?? proof.word}</b>{' '}
      {whatIf === null ? `step ${place.step}: ${proof.text}` : `Computed with the changes of ${whatIf}, step ${place.step}`}.{' '}
      {view.value !== 'stepper' && (
        <button type="button" class="link" onClick={() => forgetTensor(chosenTensor.value ?? '')}>
          {captured.value ? 'Back to what was captured' : 'Forget it'}
        </button>
      )}
    </p>
  );
}
