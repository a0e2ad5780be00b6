import { formatCount } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import { badColour } from '../../model/run/problem_page';
import type { Link, NanReport } from '../../model/wire/findings';
import { goTo } from '../../state/selection';

interface PathProps {
  report: NanReport;
  step: number;
  /** Op types only, as chips. */
  compact?: boolean;
}

/** The tensors between a NaN's origin and the loss, in order; a click selects one. */
export function PropagationPath({ report, step, compact = false }: PathProps) {
  const links = report.chain.map((link) => (
    <PathLink
      key={`${link.graph} ${link.tensor} ${link.visit}`}
      link={link}
      compact={compact}
      go={() => goTo({ graph: link.graph, tensor: link.tensor, step, visit: link.visit })}
    />
  ));
  if (compact) return <div class="origin-chain">{links}</div>;
  return (
    <ol class="chain" aria-label="Path from origin to loss">
      {links.map((link) => (
        <li key={link.key}>{link}</li>
      ))}
    </ol>
  );
}

function PathLink({ link, compact, go }: { link: Link; compact: boolean; go: () => void }) {
  const name = visible(link.op_type || link.node);
  if (compact) {
    const bad = link.nan > 0 ? `${link.nan} NaN` : `${link.inf} Inf`;
    return (
      <button type="button" class={`chip ${badColour(link)}`} title={`${link.tensor}: ${bad}`} data-testid="chain-link" onClick={go}>
        {name}
      </button>
    );
  }
  return (
    <button type="button" class="chain-link" data-bad={badColour(link)} title={visible(link.tensor)} onClick={go}>
      <b>{name}</b>
      <span class="num">{badText(link)}</span>
    </button>
  );
}

function badText({ nan, inf, size }: Link): string {
  const parts = [nan > 0 ? `${formatCount(nan)} NaN` : '', inf > 0 ? `${formatCount(inf)} Inf` : ''].filter(Boolean);
  return `${parts.join(', ')} of ${formatCount(size)}`;
}
