import { shortFile } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import type { PanelTab } from '../../model/run/deep_link';
import { visitText } from '../../model/run/problem_page';
import type { StackFrame } from '../../model/wire/answers';
import type { Origin } from '../../model/wire/findings';
import { view } from '../../state/page/choices';
import { severalWorkers } from '../../state/runs';
import { goTo } from '../../state/selection';
import { goToStep } from '../../state/steps';
import { Prose } from '../kit/Prose';

interface Place {
  graph: string;
  tensor: string;
  step: number;
  visit?: number;
}

/** A tensor's name that leads to it: to its panel here, or on the graph. */
export function TensorLink({ place, tab }: { place: Place; tab?: PanelTab }) {
  return (
    <button type="button" class="link mono" title="Open tensor" onClick={() => goTo({ ...place, ...(tab && { tab }) })}>
      <Prose text={visible(place.tensor)} />
      {visitText(place)}
    </button>
  );
}

/** `step 12`, which leads there. */
export function StepLink({ step }: { step: number }) {
  return (
    <button type="button" class="link inline-link num" title="Go to this step" onClick={() => goToStep(step)}>
      step {step}
    </button>
  );
}

/** The user's source line, and a link to it. */
export function SourceLink({ frame, place }: { frame: StackFrame | null; place: Place }) {
  if (frame === null) return null;
  return (
    <div class="place">
      <button type="button" class="link mono" title="Show the source" onClick={() => goTo({ ...place, tab: 'source' })}>
        <Prose text={visible(shortFile(frame.file))} />:{frame.line}
      </button>
      {frame.text && <code title={visible(frame.text.trim())}>{visible(frame.text.trim())}</code>}
    </div>
  );
}

/** Link to the first NaN or infinity of a tensor, at that step. */
export function OriginTitle({ origin }: { origin: Origin }) {
  const { graph, tensor, step, visit } = origin;
  return (
    <button
      type="button"
      class="link origin-title"
      title={visible(tensor)}
      onClick={() => goTo({ graph, tensor, step, visit })}
      data-testid="origin-title"
    >
      <Prose text={visible(origin.title)} />
    </button>
  );
}

/** Next steps: each is a place of this page. */
export function NextLooks({ place }: { place: Place }) {
  const onGraph = () => {
    view.value = 'graph';
    goTo(place);
  };
  return (
    <div class="row next-looks">
      <button type="button" class="button small" onClick={onGraph}>
        Show in graph
      </button>
      <button type="button" class="button small" onClick={() => goTo({ ...place, tab: 'history' })}>
        History
      </button>
      <button type="button" class="button small" onClick={() => goTo({ ...place, tab: 'histogram' })}>
        Histograms
      </button>
      <button type="button" class="button small" onClick={() => goTo({ ...place, tab: 'value' })}>
        Values
      </button>
      {severalWorkers.value && (
        <button type="button" class="button small" onClick={() => goTo({ ...place, tab: 'workers' })}>
          Workers
        </button>
      )}
    </div>
  );
}
