import { counted, formatCount } from '../../lib/format';
import { visible } from '../../lib/visible_text';
import { bad, birthReason, birthTitle, chainGoal, groupBirths, moreBirths } from '../../model/run/problem_page';
import type { Birth, NanReport } from '../../model/wire/findings';
import { showChain } from '../../state/problems/findings';
import { Prose } from '../kit/Prose';
import { Chain } from './Chain';
import { Elements } from './Elements';
import { Operands } from './Operands';
import { NextLooks, SourceLink, TensorLink } from './Places';

/** Where the first NaN or infinity came from, and how it spread. */
export function BirthCard({ report }: { report: NanReport }) {
  const [birth, ...others] = report.births;
  if (!birth) return null;
  const goal = chainGoal(report);
  return (
    <article
      class="problem-card"
      data-severity={birth.aftermath ? 'medium' : 'high'}
      data-testid="birth-card"
      data-node={birth.node}
      data-verdict={birth.verdict}
    >
      <h3>
        <span>
          <Prose text={birthTitle(birth, report)} />
        </span>
      </h3>
      <p class="problem-reason">
        <Prose text={birthReason(birth)} />
      </p>
      {birth.aftermath && <p>{birth.aftermath}</p>}
      {birth.explanation?.help && (
        <p>
          <b>What usually helps:</b> {birth.explanation.help}
        </p>
      )}
      <SourceLink frame={birth.frame} place={birth.forward ? { ...placeOf(birth), tensor: birth.forward.tensor } : birth} />
      <Operands birth={birth} />
      <Elements birth={birth} />
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
          <Chain report={report} step={birth.step} />
        </>
      )}
      <Spread report={report} />
      <NextLooks place={birth} />
      <MoreBirths births={others} />
    </article>
  );
}

const placeOf = ({ graph, step }: Birth) => ({ graph, step });

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

function MoreBirths({ births }: { births: readonly Birth[] }) {
  if (births.length === 0) return null;
  const groups = groupBirths(births);
  return (
    <details class="problems-more" open={groups.length < FEW}>
      <summary>{moreBirths(births)} at this step</summary>
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
                text={first.explanation ? first.explanation.text : `${bad(first)}, ${visible(first.op_type)}: ${birthReason(first)}`}
              />
            </div>
          </li>
        ))}
      </ul>
    </details>
  );
}
