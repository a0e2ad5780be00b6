import { proofText } from '../../model/replay';
import { chosenTensor, view } from '../../state/choices';
import { computedPlace, forgetTensor } from '../../state/replay';

/** Says that the numbers below were computed and not captured, and how far they are proven. */
export function ComputedBadge() {
  const place = computedPlace.value;
  if (place === null) return null;
  const proof = proofText(place.computed, chosenTensor.value);
  const word = place.whatIf ?? proof.text.slice(0, proof.text.indexOf(':'));
  const text = place.whatIf === null ? proof.text.slice(word.length + 2) : `Computed with the changes of ${place.whatIf}`;
  return (
    <p class="computed-badge" data-proven={place.whatIf === null && proof.proven} data-testid="computed-badge">
      <b>{word}</b> {text}, step {place.step}.{' '}
      {view.value !== 'stepper' && (
        <button type="button" class="link" onClick={() => forgetTensor(chosenTensor.value ?? '')}>
          Back to what was captured
        </button>
      )}
    </p>
  );
}
