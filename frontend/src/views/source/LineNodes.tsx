import { counted, formatCount } from '../../lib/format';
import { visible } from '../../lib/visible_text';
import { graph } from '../../state/graph';
import { selectedNode, selectNode } from '../../state/selection';
import { nodeHealth, place, sourceLines } from '../../state/source';
import { HEALTH_NAMES } from './SourceText';

/** More than that nobody reads; the graph's search finds them. */
const MOST = 500;

/** The nodes that the chosen line made, the worst first, else in the order of the graph. */
export function LineNodes() {
  const { line } = place.value;
  const known = line === null ? undefined : sourceLines.value.get(line);
  const names = graph.data.value?.names;
  if (!known || !names) return <aside class="source-nodes faint">Choose a line with a number beside it to see the nodes it made.</aside>;
  const healthOf = (row: number) => nodeHealth.value[row] ?? 0;
  const worstFirst = [...known.nodes].sort((a, b) => healthOf(b) - healthOf(a));
  return (
    <aside class="source-nodes" aria-label={`Nodes of line ${line}`}>
      <h3>
        Line {line}: {counted(known.nodes.length, 'node')}
      </h3>
      {known.through > 0 && <p class="faint">{formatCount(known.through)} more were made in calls from here.</p>}
      {worstFirst.slice(0, MOST).map((row) => {
        const name = names.at(row);
        return (
          <button
            type="button"
            key={row}
            class="source-node"
            data-selected={name === selectedNode.value}
            data-testid="source-node"
            onClick={() => selectNode(name)}
          >
            <i data-health={HEALTH_NAMES[healthOf(row)]} />
            <span class="truncate" title={visible(name)}>
              {visible(name)}
            </span>
            <span class="faint">{visible(graph.data.value?.opTypes.at(row) ?? '')}</span>
          </button>
        );
      })}
      {known.nodes.length > MOST && <p class="faint">and {formatCount(known.nodes.length - MOST)} more</p>}
    </aside>
  );
}
