import { visible } from '../../lib/visible_text';
import { badColour } from '../../model/run/problem_page';
import { nanAnswer } from '../../state/problems/findings';
import { Prose } from '../kit/Prose';
import { PropagationPath } from './PropagationPath';

/** Why the first NaN or infinity arose, and the chain from there to the loss; OriginCard.tsx says all of it. */
export function OriginSummary() {
  const report = nanAnswer.data.value?.report;
  const origin = report?.origins[0];
  if (!report || !origin) return null;
  return (
    <section class="problem-first" aria-label="Root cause" data-testid="birth" data-node={origin.node} data-bad={badColour(origin.output)}>
      <b>
        <Prose text={visible(origin.title)} />
      </b>
      <div>
        <Prose text={visible(origin.reason)} />
      </div>
      {origin.frame && (
        <div title={origin.frame.text ?? ''}>
          <Prose text={origin.frame.file} />:{origin.frame.line}
        </div>
      )}
      {origin.explanation?.help && <div>{origin.explanation.help}</div>}
      {report.chain.length > 1 && <PropagationPath report={report} step={origin.step} compact />}
    </section>
  );
}
