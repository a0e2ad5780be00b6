import { batch } from '@preact/signals';
import { visible } from '../../lib/visible';
import type { Birth, ElementStep } from '../../model/findings';
import { goTo } from '../../state/selection';
import { focusedElement } from '../../state/value';
import { measured } from './Operands';

/** The elements themselves, each led back as far as values were kept. */
export function Elements({ birth }: { birth: Birth }) {
  const [first] = birth.elements;
  if (!first) return null;
  return (
    <>
      <h4>
        One of the elements, led back
        {first.sample !== null && <span class="chip">sample {visible(first.sample)}</span>}
      </h4>
      <ol class="led-back">
        {first.trail.map((element, i) => (
          <li key={`${i} ${element.tensor}`}>
            <button type="button" class="link" title="Show this element" onClick={() => showElement(birth, element)}>
              {placeOf(element)}
              <span class="mono">{visible(element.tensor)}</span>
            </button>{' '}
            = <b class="num">{measured(element.value)}</b>
            {element.equal && (
              <>
                , as is <span class="mono">{visible(element.equal.tensor)}</span> there: the difference is 0
              </>
            )}
          </li>
        ))}
      </ol>
    </>
  );
}

/** `row 17 of `; empty for a scalar, which has one element. */
function placeOf({ place, index }: ElementStep): string {
  const words = place || (index.length > 0 ? `[${index.join(', ')}]` : '');
  return words && `${words} of `;
}

/** The value viewer at an element; it scrolls there once the value is on show. */
function showElement(birth: Birth, element: ElementStep): void {
  batch(() => {
    goTo({ graph: birth.graph, tensor: element.tensor, step: birth.step, tab: 'value' });
    focusedElement.value = element.index;
  });
}
