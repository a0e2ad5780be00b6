import { badColour, birthReason, birthTitle } from '../../model/run/problem_page';
import { births } from '../../state/problems/findings';
import { Prose } from '../kit/Prose';
import { Chain } from './Chain';

/** Why the first NaN or infinity arose, and the chain from there to the loss; BirthCard.tsx says all of it. */
export function OriginSummary() {
  const report = births.data.value?.report;
  const birth = report?.births[0];
  if (!report || !birth) return null;
  return (
    <section
      class="problem-first"
      aria-label="Where it came from"
      data-testid="birth"
      data-node={birth.node}
      data-bad={badColour(birth.output)}
    >
      <b>
        <Prose text={birthTitle(birth, report)} />
      </b>
      <div>
        <Prose text={birthReason(birth)} />
      </div>
      {birth.frame && (
        <div title={birth.frame.text ?? ''}>
          <Prose text={birth.frame.file} />:{birth.frame.line}
        </div>
      )}
      {birth.explanation?.help && <div>{birth.explanation.help}</div>}
      {report.chain.length > 1 && <Chain report={report} step={birth.step} compact />}
    </section>
  );
}
