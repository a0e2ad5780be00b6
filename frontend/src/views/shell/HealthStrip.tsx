import { useState } from 'preact/hooks';
import { counted, formatCount, formatNumber } from '../../lib/text/format';
import type { LossLine } from '../../model/charts/loss_line';
import { fractionOf, healthRuns, positionAt, shareOf } from '../../model/run/health_strip';
import { nearestStep } from '../../model/run/step_list';
import { splitScope } from '../../model/wire/names';
import { lossCurves } from '../../state/graph/graph';
import { hoveredStep } from '../../state/graph/node';
import { triggers } from '../../state/problems/events';
import { problems } from '../../state/problems/problems';
import { graphId } from '../../state/runs';
import { selectTensor } from '../../state/selection';
import { goToStep, step, stepColumns, stepIndex } from '../../state/steps';
import { useSize } from '../kit/hooks';

/** A heat strip over the steps that is also the step slider: every bad step stays visible, with any number of steps. */
export function HealthStrip() {
  const { ref, width } = useSize<HTMLDivElement>();
  const [hover, setHover] = useState<number | null>(null);
  const steps = stepColumns.value;
  const count = steps.step.length;

  const positionOf = (event: PointerEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return positionAt((event.clientX - box.left) / box.width, count);
  };
  const onPointerMove = (event: PointerEvent) => {
    if (count === 0) return;
    const at = positionOf(event);
    setHover(at);
    if (event.buttons === 1) goToStep(steps.step[at] as number);
  };
  const onPointerDown = (event: PointerEvent) => {
    if (count === 0) return;
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    goToStep(steps.step[positionOf(event)] as number);
  };

  const pointed = hover ?? pointedByChart(steps.step);
  return (
    <div
      class="strip"
      data-loss={lossCurves.value !== null}
      ref={ref}
      onPointerMove={onPointerMove}
      onPointerDown={onPointerDown}
      onPointerLeave={() => setHover(null)}
      data-testid="health-strip"
    >
      <LossCurves />
      <div class="strip-cells">
        {healthRuns(steps, Math.max(1, width / 2)).map((run) => (
          <i key={run.first} data-health={run.health} style={{ flexGrow: String(shareOf(run, count)) }} />
        ))}
      </div>
      <FirstBad steps={steps.step} />
      <Fired steps={steps.step} />
      <StepRange count={count} />
      {count > 0 && <div class="strip-thumb" style={{ left: placeOf(stepIndex.value, count) }} />}
      {pointed !== null && pointed < count && <StripHover at={pointed} width={width} />}
      <div class="strip-ends num" data-single={count === 1}>
        <span>{steps.step[0]}</span>
        <LossName />
        {count > 1 && <span>{steps.step[count - 1]}</span>}
      </div>
    </div>
  );
}

/** Loss and learning rate over the steps, epochs, and the first non-finite loss. */
function LossCurves() {
  const found = lossCurves.value;
  if (found === null) return null;
  const [first, ...rest] = found.loss;
  const path = (points: readonly { x: number; y: number }[]) =>
    points.map(({ x, y }, i) => `${i === 0 ? 'M' : 'L'}${(1000 * x).toFixed(1)} ${(2 + 18 * (1 - y)).toFixed(2)}`).join('');
  return (
    <div class="strip-loss" data-testid="loss-line" data-points={found.loss.length}>
      <svg viewBox="0 0 1000 22" preserveAspectRatio="none" role="img" aria-label={lossText(found)}>
        {found.epochs.map(({ at, epoch }) => (
          <path key={epoch} class="epoch" d={`M${1000 * at} 0V22`} />
        ))}
        {found.rate.length > 1 && <path class="rate" d={path(found.rate)} />}
        {first && rest.length > 0 && <path class="loss" d={path(found.loss)} />}
        {found.bad !== null && <path class="bad" d={`M${1000 * found.bad} 0V22`} />}
      </svg>
    </div>
  );
}

/** Name of the drawn metric; that of a captured tensor is a button that selects it. */
function LossName() {
  const found = lossCurves.value;
  if (found === null) return null;
  const { name, tensor, log } = found;
  const scale = log ? ', log scale' : '';
  if (tensor === null)
    return (
      <span title={`${name} as the training loop logs it: for Keras usually the mean of the epoch so far`}>
        logged {name}
        {scale}
      </span>
    );
  const title = `${name}, the loss by its position in the graph; the training loop logs none`;
  return (
    <button type="button" class="link" title={title} onPointerDown={stop} onClick={() => selectTensor(tensor)} data-testid="loss-tensor">
      {splitScope(tensor).label}
      {scale}
    </button>
  );
}

const stop = (event: Event) => event.stopPropagation();

function lossText({ name, low, high, epochs, bad }: LossLine): string {
  const range = Number.isFinite(low) ? `${formatNumber(low)} … ${formatNumber(high)}` : 'not finite';
  const more = [epochs.length > 0 ? counted(epochs.length + 1, 'epoch') : '', bad === null ? '' : 'not finite at the end'].filter(Boolean);
  return [`${name} over the steps: ${range}`, ...more].join(', ');
}

/** Points at the first step with a NaN or Inf in the current graph. */
function FirstBad({ steps }: { steps: number[] }) {
  const first = problems.data.value?.nonfinite.find((problem) => problem.graph === graphId.value);
  const at = first ? steps.indexOf(first.first_step) : -1;
  if (!first || at < 0) return null;
  return <div class="strip-flag" data-health={first.nan > 0 ? 'nan' : 'inf'} style={{ left: placeOf(at, steps.length) }} />;
}

/** Steps at which triggers fired. */
function Fired({ steps }: { steps: number[] }) {
  const fired = [...new Set(triggers.value.map((trigger) => trigger.step))];
  return (
    <>
      {fired.map((at) => {
        const place = steps.indexOf(nearestStep(steps, at) ?? -1);
        return place < 0 || at < (steps[0] as number) || at > (steps[steps.length - 1] as number) ? null : (
          <div
            class="strip-trigger"
            key={at}
            style={{ left: placeOf(place, steps.length) }}
            title={titleOf(at)}
            data-testid="strip-trigger"
          />
        );
      })}
    </>
  );
}

function titleOf(at: number): string {
  const here = triggers.value.filter((trigger) => trigger.step === at);
  return here.map(({ trigger, reason }) => `${trigger} fired at step ${at}: ${reason}`).join('\n');
}

function placeOf(position: number, count: number): string {
  return `${100 * fractionOf(position, count)}%`;
}

function pointedByChart(steps: number[]): number | null {
  const at = hoveredStep.value;
  return at === null ? null : steps.indexOf(at);
}

/** The slider itself, for the keyboard and screen readers; the strip around it takes the pointer. */
function StepRange({ count }: { count: number }) {
  const { step: steps, nan, inf } = stepColumns.value;
  const at = stepIndex.value;
  const health = nan[at] ? `, ${counted(nan[at], 'snapshot')} with NaN` : inf[at] ? `, ${counted(inf[at], 'snapshot')} with Inf` : '';
  return (
    <input
      type="range"
      data-testid="step-slider"
      aria-label="Step"
      aria-valuetext={`step ${step.value}${health}`}
      min={0}
      max={Math.max(0, count - 1)}
      value={Math.max(0, at)}
      disabled={count === 0}
      onInput={(event) => goToStep(steps[Number(event.currentTarget.value)] ?? null)}
    />
  );
}

function StripHover({ at, width }: { at: number; width: number }) {
  const { step: steps, nan, inf, snapshots } = stepColumns.value;
  const left = fractionOf(at, steps.length) * width;
  const curves = lossCurves.value;
  const logged = curves?.at(steps[at] ?? -1);
  const counts = [nan[at] ? `${formatCount(nan[at])} with NaN` : '', inf[at] ? `${formatCount(inf[at])} with Inf` : ''].filter(Boolean);
  return (
    <>
      <div class="strip-hover" style={{ left: `${left}px` }} />
      <div class="tooltip num" style={{ left: `${Math.max(90, Math.min(width - 90, left))}px` }}>
        <b>step {steps[at]}</b> · {counted(snapshots[at] ?? 0, 'snapshot')} · {counts.join(' · ') || 'all finite'}
        {logged && !curves?.tensor && ` · epoch ${logged.epoch + 1}`}
        {logged && ` · ${curves?.tensor ? '' : 'logged '}${curves?.name} ${formatNumber(logged.loss, 4)}`}
        {logged && !Number.isNaN(logged.rate) && ` · lr ${formatNumber(logged.rate, 3)}`}
      </div>
    </>
  );
}
