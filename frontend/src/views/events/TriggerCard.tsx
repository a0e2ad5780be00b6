import { formatCount, formatNumber } from '../../lib/text/format';
import type { Trigger, TriggerInput } from '../../model/wire/events';
import { showLine } from '../../state/graph/source';
import { goTo } from '../../state/selection';
import { goToStep, step } from '../../state/steps';

/** One firing: trigger, step, tensor, source line, inputs, and the earlier steps that were stored. */
export function TriggerCard({ trigger }: { trigger: Trigger }) {
  const { tensor, source, inputs } = trigger;
  return (
    <article class="event-card" data-testid="trigger" data-step={trigger.step} data-current={trigger.step === step.value}>
      <header class="row">
        <button type="button" class="button small num" onClick={() => goToStep(trigger.step)}>
          Step {trigger.step}
        </button>
        <code class="event-what">{trigger.trigger}</code>
        {trigger.stops && <span class="chip nan">ended training</span>}
      </header>
      {trigger.reason && <p class="event-reason">{trigger.reason}.</p>}
      <div class="row event-places">
        {tensor && (
          <button type="button" class="button small" onClick={() => goTo(placeOf(trigger, tensor))} data-testid="trigger-node">
            {trigger.opType ? `${trigger.opType} ` : ''}
            <span class="truncate">{tensor}</span>
          </button>
        )}
        {source && (
          <button
            type="button"
            class="button small mono"
            onClick={() => showLine(source.file, source.line)}
            title={`in ${source.function}`}
          >
            <span class="truncate">
              {source.file}:{source.line}
            </span>
          </button>
        )}
      </div>
      <Recorded trigger={trigger} />
      {inputs.length > 0 && <Inputs trigger={trigger} inputs={inputs} />}
    </article>
  );
}

const placeOf = ({ graph, step: at }: Trigger, tensor: string) => ({ ...(graph && { graph }), tensor, step: at });

/** Steps that the flight recorder held until the trigger fired. */
function Recorded({ trigger }: { trigger: Trigger }) {
  const first = trigger.firstStep;
  if (first === null) return null;
  return (
    <p class="row">
      <span>
        {first === trigger.step - 1 ? (
          <>
            The flight recorder wrote the step before it, <b class="num">{first}</b>.
          </>
        ) : (
          <>
            The flight recorder wrote the steps before it, from <b class="num">{first}</b> to <b class="num">{trigger.step - 1}</b>.
          </>
        )}
      </span>
      <button type="button" class="button small" onClick={() => goToStep(first)} data-testid="recorded">
        Go to step {first}
      </button>
    </p>
  );
}

function Inputs({ trigger, inputs }: { trigger: Trigger; inputs: readonly TriggerInput[] }) {
  return (
    <table class="event-inputs num">
      <thead>
        <tr>
          <th scope="col">Input</th>
          <th scope="col">NaN</th>
          <th scope="col">Inf</th>
          <th scope="col">Min</th>
          <th scope="col">Max</th>
        </tr>
      </thead>
      <tbody>
        {inputs.map((input, i) => (
          <tr key={`${i} ${input.tensor}`}>
            <td>
              <button type="button" class="link-name" onClick={() => goTo(placeOf(trigger, input.tensor))} title={input.tensor}>
                <span class="truncate">{input.tensor}</span>
              </button>
            </td>
            <Count value={input.nan} kind="nan" />
            <Count value={input.inf} kind="inf" />
            <td>{input.min === null ? '–' : formatNumber(input.min)}</td>
            <td>{input.max === null ? '–' : formatNumber(input.max)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Count({ value, kind }: { value: number | null; kind: 'nan' | 'inf' }) {
  if (value === null) return <td class="faint">not captured</td>;
  return <td class={value > 0 ? kind : 'faint'}>{formatCount(value)}</td>;
}
