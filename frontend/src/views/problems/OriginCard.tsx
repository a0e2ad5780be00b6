import { counted, formatCount } from '../../lib/format';
import { visible } from '../../lib/visible_text';
import { bad, chainGoal, groupOrigins, moreOrigins, originReason, originTitle } from '../../model/run/problem_page';
import type { NanReport, Origin } from '../../model/wire/findings';
import { showChain } from '../../state/problems/findings';
import { Prose } from '../kit/Prose';
import { Backtrace } from './Backtrace';
import { Operands } from './Operands';
import { NextLooks, SourceLink, TensorLink } from './PlaceLinks';
import { PropagationPath } from './PropagationPath';

/** Where the first NaN or infinity came from, and how it spread. */
export function OriginCard({ report }: { report: NanReport }) {
  const [origin, ...others] = report.births;
  if (!origin) return null;
  const goal = chainGoal(report);
  return (
    <article
      class="problem-card"
      data-severity={origin.aftermath ? 'medium' : 'high'}
      data-testid="birth-card"
      data-node={origin.node}
      data-verdict={origin.verdict}
    >
      <h3>
        <span>
          <Prose text={originTitle(origin, report)} />
        </span>
      </h3>
      <p class="problem-reason">
        <Prose text={originReason(origin)} />
      </p>
      {origin.aftermath && <p>{origin.aftermath}</p>}
      {origin.explanation?.help && (
        <p>
          <b>What usually helps:</b> {origin.explanation.help}
        </p>
      )}
      <SourceLink frame={origin.frame} place={origin.forward ? { ...placeOf(origin), tensor: origin.forward.tensor } : origin} />
      <Operands origin={origin} />
      <Backtrace origin={origin} />
      {report.chain.length > 1 && (
        <>
          <h4>
            <span>
              From there to{' '}
              <span class={goal.isName ? 'mono' : undefined}>
                <Prose text={goal.words} />
              </span>
            </span>
            <button type="button" class="button small" onClick={showChain} data-testid="show-chain">
              Show on the graph
            </button>
          </h4>
          <PropagationPath report={report} step={origin.step} />
        </>
      )}
      <Spread report={report} />
      <NextLooks place={origin} />
      <MoreOrigins births={others} />
    </article>
  );
}

const placeOf = ({ graph, step }: Origin) => ({ graph, step });

function Spread({ report }: { report: NanReport }) {
  if (report.nonfinite < 2) return null;
  const healed = report.healed > 0 ? `, ${counted(report.healed, 'tensor')} made of them ${report.healed === 1 ? 'is' : 'are'} finite` : '';
  return (
    <p class="faint">
      At step {report.step}, {formatCount(report.nonfinite)} captured tensors are not finite: {formatCount(report.passed)} of them{' '}
      {report.passed === 1 ? 'only passes' : 'only pass'} it on
      {healed}.
    </p>
  );
}

/** Fewer lines than that stand open: the NaN of a loop beside the Inf of a side branch is no less bad. */
const FEW = 4;

function MoreOrigins({ births }: { births: readonly Origin[] }) {
  if (births.length === 0) return null;
  const groups = groupOrigins(births);
  return (
    <details class="problems-more" open={groups.length < FEW}>
      <summary>{moreOrigins(births)} at this step</summary>
      <ul class="births">
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
              <Prose
                text={first.explanation ? first.explanation.text : `${bad(first)}, ${visible(first.op_type)}: ${originReason(first)}`}
              />
            </div>
          </li>
        ))}
      </ul>
    </details>
  );
}
