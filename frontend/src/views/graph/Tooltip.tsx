import { useMemo } from 'preact/hooks';
import { describeEdge, describeEntity, type Subject } from '../../model/graph/describe';
import { rowsByNode } from '../../model/graph/node_values';
import type { GraphView } from './graph_view';
import type { Hover } from './types';

const NO_ROWS = new Int32Array(0);

/** What is under the pointer, beside the pointer. */
export function Tooltip({ model, hover }: { model: GraphView; hover: Hover }) {
  const { drawing, overlay } = model;
  const health = model.colouring.value?.health;
  const rows = useMemo(() => (drawing && overlay ? rowsByNode(drawing.tree.nodeCount, overlay) : null), [drawing, overlay]);
  if (!drawing || !health) return null;
  const rowsOf = (node: number): Int32Array => (rows ? rows.rows.subarray(rows.start[node], rows.start[node + 1]) : NO_ROWS);
  const subject: Subject = { ...drawing, health, step: overlay, rowsOf };
  const { title, name, facts } = hover.edge >= 0 ? describeEdge(subject, hover.edge) : describeEntity(subject, hover.entity);
  const { width, height } = model.viewport.view;
  const [right, below] = [hover.x < width - 340, hover.y < height - 200];
  const place = {
    left: right ? `${hover.x + 16}px` : 'auto',
    right: right ? 'auto' : `${width - hover.x + 12}px`,
    top: below ? `${hover.y + 14}px` : 'auto',
    bottom: below ? 'auto' : `${height - hover.y + 10}px`,
  };
  return (
    <div class="graph-tooltip" role="tooltip" style={place}>
      <div class="graph-tooltip-title">{title}</div>
      {name !== '' && name !== title && <div class="graph-tooltip-name">{name}</div>}
      <dl class="graph-facts">
        {facts.map((fact) => (
          <div key={fact.name} class={fact.bad ? `graph-bad-${fact.bad}` : ''}>
            <dt>{fact.name}</dt>
            <dd>{fact.value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
