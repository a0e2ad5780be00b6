import { formatCount } from '../../lib/format';
import { visible } from '../../lib/visible_text';
import type { Comparison, Unmatched as UnmatchedNode } from '../../model/wire/comparison';

const LISTED = 50;

/** How nodes were paired, and those of one side only. */
export function Unmatched({ comparison }: { comparison: Comparison }) {
  return (
    <details class="compare-matching" data-testid="compare-matching">
      <summary>{comparison.graphs.map(graphText).join(' ') || 'No graphs were paired.'}</summary>
      <ul>
        {comparison.graphs
          .flatMap((graph) => graph.renames)
          .map(([old, renamed, nodes]) => (
            <li key={old}>
              renamed <code>{visible(old)}</code> to <code>{visible(renamed)}</code> <span class="faint">({nodes} nodes)</span>
            </li>
          ))}
        <Nodes side="A" nodes={comparison.only_a} />
        <Nodes side="B" nodes={comparison.only_b} />
      </ul>
    </details>
  );
}

function graphText({ name, matched, only_a, only_b }: Comparison['graphs'][number]): string {
  const told = Object.entries(matched).filter(([, count]) => count > 0);
  const how = told.map(([way, count]) => `${formatCount(count)} matched by ${way}`).join(', ');
  return `Nodes of ${visible(name)}: ${how || 'none matched'}; ${formatCount(only_a)} only in A, ${formatCount(only_b)} only in B.`;
}

function Nodes({ side, nodes }: { side: string; nodes: readonly UnmatchedNode[] }) {
  return (
    <>
      {nodes.slice(0, LISTED).map((node) => (
        <li key={node.node}>
          only in {side}: <code>{visible(node.node)}</code>{' '}
          <span class="faint">
            ({node.op_type}
            {node.captured ? '' : ', not captured'})
          </span>
        </li>
      ))}
      {nodes.length > LISTED && (
        <li class="faint">
          {nodes.length - LISTED} more only in {side}
        </li>
      )}
    </>
  );
}
