import { formatCount } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import { badColour, groupOrigins } from '../../model/run/problem_page';
import type { NanReport, Origin } from '../../model/wire/findings';
import { nanAnswer } from '../../state/problems/findings';
import { showNanPath } from '../graph/canvas/navigation';
import { Prose } from '../kit/Prose';
import { Backtrace } from './Backtrace';
import { LinkedProse } from './LinkedProse';
import { Operands } from './Operands';
import { NextLooks, OriginTitle, SourceLink, TensorLink } from './PlaceLinks';
import { PropagationPath } from './PropagationPath';

/** The origin of the first NaN or infinity, and its path. */
export function OriginCard({ report }: { report: NanReport }) {
  const [origin, ...others] = report.origins;
  if (!origin) return null;
  return (
    <article
      class="problem-card"
      data-severity={origin.aftermath ? 'medium' : 'high'}
      data-testid="origin-card"
      data-node={origin.node}
      data-verdict={origin.verdict}
    >
      <h3>
        <OriginTitle origin={origin} />
      </h3>
      <p class="problem-reason">
        <LinkedProse text={origin.reason} place={placeOf(origin)} />
      </p>
      {origin.aftermath && (
        <p>
          <LinkedProse text={origin.aftermath} place={placeOf(origin)} />
        </p>
      )}
      {origin.explanation?.help && (
        <p>
          <b>Suggested fix:</b> <LinkedProse text={origin.explanation.help} place={placeOf(origin)} />
        </p>
      )}
      <SourceLink frame={origin.frame} place={origin.forward ? { ...placeOf(origin), tensor: origin.forward.tensor } : origin} />
      <Operands origin={origin} />
      <Backtrace origin={origin} />
      {report.chain.length > 1 && (
        <>
          <h4>
            <span>
              Path to{' '}
              <span class={report.goal === 'the loss' ? undefined : 'mono'}>
                <Prose text={visible(report.goal)} />
              </span>
            </span>
            <button type="button" class="button small" onClick={showNanPath} data-testid="show-chain">
              Show path
            </button>
          </h4>
          <PropagationPath report={report} step={origin.step} />
        </>
      )}
      {report.nonfinite > 1 && (
        <p class="faint">
          <LinkedProse text={report.summary} place={placeOf(origin)} />
        </p>
      )}
      <NextLooks place={origin} />
      <MoreOrigins origins={others} count={report.more} />
    </article>
  );
}

const placeOf = ({ graph, step }: Origin) => ({ graph, step });

/** Fewer lines than this are expanded: the NaN of a loop is as bad as the Inf of a side branch. */
const FEW = 4;

function MoreOrigins({ origins, count }: { origins: readonly Origin[]; count: string }) {
  if (origins.length === 0) return null;
  const groups = groupOrigins(origins);
  return (
    <details class="problems-more" open={groups.length < FEW}>
      <summary>{count} at this step</summary>
      <ul class="origins">
        {groups.map(({ first, others }) => (
          <li key={first.tensor}>
            <TensorLink place={first} />
            {others.length > 0 && (
              <span class="faint">
                {' '}
                and {formatCount(others.length)} more {first.op_type}
              </span>
            )}
            <div>
              <LinkedProse
                text={
                  first.explanation ? first.explanation.text : `${[first.kind, first.op_type].filter(Boolean).join(', ')}: ${first.reason}`
                }
                place={placeOf(first)}
              />
            </div>
          </li>
        ))}
      </ul>
    </details>
  );
}

/** Why the first NaN or infinity arose, and the chain from there to the loss; OriginCard.tsx says all of it. */
export function OriginSummary() {
  const report = nanAnswer.data.value?.report;
  const origin = report?.origins[0];
  if (!report || !origin) return null;
  const { graph, step } = origin;
  return (
    <section class="problem-first" aria-label="Root cause" data-testid="origin" data-node={origin.node} data-bad={badColour(origin.output)}>
      <b>
        <OriginTitle origin={origin} />
      </b>
      <div>
        <LinkedProse text={origin.reason} place={{ graph, step }} />
      </div>
      <SourceLink frame={origin.frame} place={origin.forward ? { graph, step, tensor: origin.forward.tensor } : origin} />
      {origin.explanation?.help && (
        <div>
          <LinkedProse text={origin.explanation.help} place={{ graph, step }} />
        </div>
      )}
      {report.chain.length > 1 && <PropagationPath report={report} step={step} compact />}
    </section>
  );
}
