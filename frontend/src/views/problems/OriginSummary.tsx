import { badColour } from '../../model/run/problem_page';
import { nanAnswer } from '../../state/problems/findings';
import { LinkedProse } from './LinkedProse';
import { OriginTitle, SourceLink } from './PlaceLinks';
import { PropagationPath } from './PropagationPath';

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
