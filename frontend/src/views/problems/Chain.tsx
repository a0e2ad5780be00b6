import { formatCount } from '../../lib/format';
import { visible } from '../../lib/visible_text';
import { badColour } from '../../model/run/problem_page';
import type { Link, NanReport } from '../../model/wire/findings';
import { goTo } from '../../state/selection';

/** The tensors between birth and loss, in order; a click selects one. */
export function Chain({ report, step }: { report: NanReport; step: number }) {
  return (
    <ol class="chain" aria-label="From the birth to the loss">
      {report.chain.map((link) => (
        <li key={link.tensor}>
          <button
            type="button"
            class="chain-link"
            data-bad={badColour(link)}
            title={visible(link.tensor)}
            onClick={() => goTo({ graph: report.graph, tensor: link.tensor, step, visit: link.visit })}
          >
            <b>{visible(link.op_type || link.node)}</b>
            <span class="num">{badText(link)}</span>
          </button>
        </li>
      ))}
    </ol>
  );
}

function badText({ nan, inf, size }: Link): string {
  const parts = [nan > 0 ? `${formatCount(nan)} NaN` : '', inf > 0 ? `${formatCount(inf)} Inf` : ''].filter(Boolean);
  return `${parts.join(', ')} of ${formatCount(size)}`;
}
