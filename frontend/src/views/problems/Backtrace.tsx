import { batch } from '@preact/signals';
import { counted } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import { visitText } from '../../model/run/problem_page';
import { exactText } from '../../model/value/elements';
import type { ElementStep, Origin } from '../../model/wire/findings';
import { goTo } from '../../state/selection';
import { focusElementOf } from '../../state/tensors/value';
import { Prose } from '../kit/Prose';

const FIRST = 40; // number of listed elements at the start and at the end of a long backtrace
const LAST = 5;

/** Single elements, traced back as far as values were stored. */
export function Backtrace({ origin }: { origin: Origin }) {
  const [first] = origin.elements;
  if (!first) return null;
  const left = first.trail.length - FIRST - LAST;
  const [start, end] = left > 0 ? [first.trail.slice(0, FIRST), first.trail.slice(-LAST)] : [first.trail, []];
  return (
    <>
      <h4>
        Backtrace of one element
        {first.sample !== null && <span class="chip">sample {visible(first.sample)}</span>}
      </h4>
      <ol class="led-back">
        {start.map((element, i) => (
          <Step key={`${i} ${element.tensor}`} origin={origin} element={element} />
        ))}
        {left > 0 && <li class="muted">… {counted(left, 'more op')}</li>}
        {end.map((element, i) => (
          <Step key={`${i} ${element.tensor}`} origin={origin} element={element} />
        ))}
      </ol>
      {first.cut && <p class="muted">Backtrace truncated after {first.trail.length} ops.</p>}
    </>
  );
}

function Step({ origin, element }: { origin: Origin; element: ElementStep }) {
  return (
    <li>
      <button type="button" class="link" title="Show this element" onClick={() => showElement(origin, element)}>
        {placeOf(element)}
        <span class="mono">
          <Prose text={visible(element.tensor)} />
        </span>
        {visitText(element)}
      </button>{' '}
      = <b class="num">{exact(Number(element.value))}</b>
      {element.equal && (
        <>
          , equals{' '}
          <span class="mono">
            <Prose text={visible(element.equal.tensor)} />
          </span>{' '}
          here, so the difference is 0
        </>
      )}
    </li>
  );
}

/** All digits: a value just above 1 is not 1. */
const exact = (value: number): string => exactText(value, Math.fround(value) === value ? 'float32' : 'float64');

/** `row 17 of `; empty for a scalar, which has one element. */
function placeOf({ place, index }: ElementStep): string {
  const words = place || (index.length > 0 ? `[${index.join(', ')}]` : '');
  return words && `${words} of `;
}

/** The value viewer at an element; it scrolls there once the value is shown. */
function showElement(origin: Origin, element: ElementStep): void {
  batch(() => {
    goTo({ graph: element.graph || origin.graph, tensor: element.tensor, step: origin.step, visit: element.visit, tab: 'value' });
    focusElementOf(element.tensor, origin.step, element.index);
  });
}
