import { useEffect, useRef } from 'preact/hooks';
import { counted } from '../../lib/text/format';
import { isBetween, type TracedNodes } from '../../model/graph/trace';
import { shortName } from './canvas/graph_commands';
import type { GraphView } from './canvas/graph_view';
import { nextTraced, tracedAt } from './canvas/navigation';
import { NodeRow } from './NodeRow';
import { GraphIcon } from './ToolButton';

/** A list that a browser draws at once; it scrolls with the current node. */
const LISTED = 200;

/** The nodes of a trace, above the graph, or the start of a path without an end yet. */
export function TraceCard({ model }: { model: GraphView }) {
  const found = model.tracer.found.value;
  const start = model.pathStart.value;
  if (start !== null) return <PathStart model={model} start={start} />;
  if (!found) return null;
  return (
    <section class="graph-trace graph-card" aria-label="Trace" data-testid="trace">
      <h2 class="graph-trace-title" title={fullTitle(found)}>
        {title(found)}
      </h2>
      <div class="graph-trace-head">
        <span class="graph-hits" role="status">
          {summaryText(found, model.tracer.current.value)}
        </span>
        <Buttons model={model} empty={found.rows.length === 0} />
      </div>
      {isBetween(found.trace.kind) && <ShortestSwitch model={model} found={found} />}
      {found.rows.length > 0 && <Rows model={model} found={found} />}
    </section>
  );
}

/** All paths, or the one over the fewest nodes. */
function ShortestSwitch({ model, found: { trace } }: { model: GraphView; found: TracedNodes }) {
  const shortest = trace.kind === 'path';
  return (
    <label class="graph-trace-option">
      <input
        type="checkbox"
        checked={shortest}
        onChange={() => model.events.retrace({ ...trace, kind: shortest ? 'paths' : 'path' })}
        data-testid="shortest"
      />
      Shortest path only
    </label>
  );
}

function PathStart({ model, start }: { model: GraphView; start: string }) {
  return (
    <section class="graph-trace graph-card" aria-label="Trace" data-testid="trace">
      <h2 class="graph-trace-title" title={start}>
        Paths from {shortName(start)}
      </h2>
      <div class="graph-trace-head">
        <span class="graph-hits" role="status">
          Select the end node, then press <kbd>B</kbd>.
        </span>
        <ClearButton model={model} />
      </div>
    </section>
  );
}

function Buttons({ model, empty }: { model: GraphView; empty: boolean }) {
  return (
    <>
      {(['up', 'down'] as const).map((icon) => {
        const label = icon === 'up' ? 'Previous node of the trace (N)' : 'Next node of the trace (n)';
        return (
          <button
            key={icon}
            type="button"
            class="graph-button graph-small"
            aria-label={label}
            title={label}
            disabled={empty}
            onClick={() => nextTraced(model, icon === 'up' ? -1 : 1)}
          >
            <GraphIcon name={icon} />
          </button>
        );
      })}
      <ClearButton model={model} />
    </>
  );
}

function ClearButton({ model }: { model: GraphView }) {
  const label = 'Clear the trace (Esc)';
  return (
    <button type="button" class="graph-button graph-small" aria-label={label} title={label} onClick={() => model.events.trace(null, '')}>
      <GraphIcon name="clear" />
    </button>
  );
}

function Rows({ model, found }: { model: GraphView; found: TracedNodes }) {
  const list = useRef<HTMLOListElement>(null);
  const current = model.tracer.current.value;
  useEffect(() => {
    list.current?.querySelector('[aria-current="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [current]);
  if (!model.drawing) return null;
  const { graph } = model.drawing;
  const first = Math.max(0, Math.floor(current / LISTED) * LISTED);
  const rest = found.rows.length - first - LISTED;
  return (
    <ol ref={list} class="graph-trace-rows" start={first + 1}>
      {[...found.rows.subarray(first, first + LISTED)].map((row, i) => (
        <li key={row}>
          <NodeRow graph={graph} row={row} current={first + i === current} testid="trace-row" onChoose={() => tracedAt(model, first + i)} />
        </li>
      ))}
      {rest > 0 && <li class="graph-more">{rest.toLocaleString('en-US')} more, farther away</li>}
    </ol>
  );
}

function title({ trace }: TracedNodes): string {
  if (isBetween(trace.kind)) return `${shortName(trace.from)} to ${shortName(trace.to)}`;
  return trace.kind === 'inputs' ? `Upstream of ${shortName(trace.from)}` : `Downstream of ${shortName(trace.from)}`;
}

function fullTitle({ trace }: TracedNodes): string {
  if (!isBetween(trace.kind)) return trace.from;
  return `${trace.kind === 'path' ? 'Shortest path' : 'All paths'} between ${trace.from} and ${trace.to}`;
}

function summaryText({ rows, missing, trace }: TracedNodes, current: number): string {
  if (missing !== null) return 'not in this graph';
  if (rows.length === 0) return isBetween(trace.kind) ? 'no path' : 'nothing';
  const total = counted(rows.length, 'node');
  return current < 0 ? total : `${(current + 1).toLocaleString('en-US')} of ${total}`;
}
