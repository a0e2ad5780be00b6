import { formatCount } from '../../lib/text/format';
import { splitScope, tensorName } from '../../model/wire/names';
import type { TensorFacts } from '../../model/wire/replay';
import { node } from '../../state/graph/node';
import { chosenTensor } from '../../state/page/choices';
import { shownStep } from '../../state/replay/replay';
import { selectedNode, selectTensor } from '../../state/selection';

/** Maximum number listed; the panel's overview has all. */
const MOST = 12;

/** Inputs and outputs of the node under the cursor. */
export function NodeCard() {
  const [shown, name] = [shownStep.value, selectedNode.value];
  const detail = node.data.value?.name === name ? node.data.value : null;
  if (shown === null || name === null) return null;
  const inputs = detail?.inputs.map((input) => input.tensor) ?? [];
  const outputs = detail?.outputs.map((output) => output.tensor) ?? [tensorName(name, 0)];
  const title = splitScope(name);
  return (
    <section class="stepper-card" aria-label="Inputs and outputs" data-testid="stepper-card" data-node={name}>
      <h2 title={name}>
        <span class="stepper-label">
          <span class="faint truncate">{title.scope}</span>
          <span class="truncate">{title.label}</span>
        </span>{' '}
        {detail && detail.op_type !== title.label && <span class="chip truncate">{detail.op_type}</span>}
      </h2>
      <Tensors title="in" names={inputs} find={(tensor) => shown.tensor(tensor)} />
      <Tensors title="out" names={outputs} find={(tensor) => shown.tensor(tensor)} />
    </section>
  );
}

function Tensors({ title, names, find }: { title: string; names: readonly string[]; find: (name: string) => TensorFacts | null }) {
  return (
    <>
      {names.slice(0, MOST).map((name, i) => (
        // An op may read the same tensor twice.
        <TensorRow key={`${i} ${name}`} title={title} name={name} facts={find(name)} />
      ))}
      {names.length > MOST && (
        <p class="faint">
          {title}: {formatCount(names.length - MOST)} more
        </p>
      )}
    </>
  );
}

function TensorRow({ title, name, facts }: { title: string; name: string; facts: TensorFacts | null }) {
  const { scope, label } = splitScope(name);
  return (
    <button
      type="button"
      class="stepper-tensor"
      aria-pressed={chosenTensor.value === name}
      onClick={() => selectTensor(name)}
      title={name}
      data-changed={facts?.changed ?? false}
      data-testid={`stepper-${title}`}
    >
      <span class="faint stepper-way">{title}</span>
      <span class="stepper-label stepper-name">
        <span class="faint truncate">{scope}</span>
        <span class="truncate">{label}</span>
      </span>
      <span class="num faint">{facts ? `${facts.dtype} ${facts.shape.join('×') || 'scalar'}` : 'not available'}</span>
      {facts && facts.nan > 0 && <span class="stepper-bad nan num">{formatCount(facts.nan)} NaN</span>}
      {facts && facts.inf > 0 && <span class="stepper-bad inf num">{formatCount(facts.inf)} Inf</span>}
      {facts && facts.badVisit > 0 && <span class="faint">from iteration {facts.badVisit}</span>}
    </button>
  );
}
