import { badColour, birthReason, birthTitle } from '../../model/run/problem_page';
import type { Link } from '../../model/wire/findings';
import { births } from '../../state/problems/findings';
import { goTo } from '../../state/selection';
import { Prose } from '../kit/Prose';

/** Why the first NaN or infinity was born, and the chain from there to the loss. */
export function Birth() {
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
      {report.chain.length > 1 && (
        <div class="birth-chain">
          {report.chain.map((link) => (
            <ChainLink key={link.tensor} link={link} graph={report.graph} step={birth.step} />
          ))}
        </div>
      )}
    </section>
  );
}

function ChainLink({ link, graph, step }: { link: Link; graph: string; step: number }) {
  const bad = link.nan > 0 ? `${link.nan} NaN` : `${link.inf} Inf`;
  return (
    <button
      type="button"
      class={`chip ${badColour(link)}`}
      title={`${link.tensor}: ${bad}`}
      data-testid="chain-link"
      onClick={() => goTo({ graph, tensor: link.tensor, step, visit: link.visit })}
    >
      {link.op_type || link.node}
    </button>
  );
}
