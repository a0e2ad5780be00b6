import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { registerGraphProbe } from '../../lib/probe';
import type { Trace, TraceKind } from '../../model/graph/trace';
import type { ColourBy, GraphData } from '../../model/wire/graph';
import type { NodeTrends } from '../../model/wire/node_trends';
import type { StepStatistics } from '../../model/wire/step_statistics';
import './graph.css';
import './search.css';
import './legend.css';
import './overlays.css';
import './picture.css';
import type { Ref } from 'preact';
import { describeEdge, describeEntity, type Subject } from '../../model/graph/describe';
import { rowsByNode } from '../../model/graph/node_values';
import { toGraphX, toGraphY } from '../../render/camera';
import { MINIMAP, minimapCamera } from '../../render/minimap';
import { CanvasPainter } from './canvas/canvas_painter';
import type { GraphEvents, Hover } from './canvas/graph_events';
import { handleKey } from './canvas/graph_keys';
import { probeOf } from './canvas/graph_probe';
import { GraphView } from './canvas/graph_view';
import { PointerInput } from './canvas/pointer';
import { showTrace } from './canvas/shown_entities';
import { GraphMenu } from './GraphMenu';
import { LegendBox } from './LegendBox';
import { SearchBox } from './SearchBox';
import { Toolbar } from './Toolbar';
import { TraceCard } from './TraceCard';

interface GraphPaneProps {
  /** Null while loading. */
  readonly graph: GraphData | null;
  readonly overlay: StepStatistics | null;
  /** Name of the selected node, or path of the selected scope with a slash at its end. */
  readonly selected: string | null;
  readonly colour: ColourBy;
  readonly theme: 'light' | 'dark';
  /** Run, graph and step, for exported pictures. */
  readonly subject: readonly string[];
  /** Names of bookmarked entities, like `selected`. */
  readonly bookmarks?: readonly string[];
  readonly onBookmark?: () => void;
  readonly onSelect: (name: string | null) => void;
  /** Trends of the visible nodes; requested by `onTrends`. */
  readonly trends?: NodeTrends | null;
  readonly onTrends?: (graph: GraphData, rows: readonly number[]) => void;
  readonly onHover?: (name: string | null) => void;
  /** Gives the rest of the page access to the pane; null when it unmounts. */
  readonly onModel?: (model: GraphView | null) => void;
  /** Rows of nodes to mark as a chain: the path of NaN from its origin to the loss. */
  readonly chain: readonly number[];
  /** Paths of repeated blocks that are not grouped; `*` for all. */
  readonly ungrouped: readonly string[];
  readonly trace: Trace | null;
  /** Start of a path without an end yet. */
  readonly pathStart: string | null;
  readonly onUngroup: (paths: readonly string[]) => void;
  /** A trace is started at a node or scope; null clears it. */
  readonly onTrace: (kind: TraceKind | null, name: string) => void;
  readonly onRetrace: (trace: Trace) => void;
  /** The page shows the legend itself. */
  readonly legendElsewhere?: boolean;
  /** Scope paths to expand at first (`*`: all); without it the pane chooses. */
  readonly expandedScopes?: readonly string[];
  /** Expanded scopes without expanded scopes inside (ancestors are implied), or `['*']`; at most 200. */
  readonly onExpandedChange?: (scopes: readonly string[]) => void;
  /** Called before all expanded scopes change, to add a history entry. */
  readonly onLeave?: () => void;
}

export function GraphPane(props: GraphPaneProps) {
  const { graph, theme } = props;
  const latest = useRef(props);
  latest.current = props;
  const model = useMemo(() => new GraphView(eventsOf(latest)), []);
  const pane = useRef<HTMLDivElement>(null);
  const surface = useRef<HTMLDivElement>(null);
  const canvases = {
    graph: useRef<HTMLCanvasElement>(null),
    highlights: useRef<HTMLCanvasElement>(null),
    minimap: useRef<HTMLCanvasElement>(null),
  };
  useScreen(model, surface, canvases);
  useShown(model, props);
  useEffect(() => searchKeys(pane), []);
  useEffect(() => {
    latest.current.onModel?.(model);
    return () => latest.current.onModel?.(null);
  }, [model]);

  const focusGraph = () => surface.current?.focus();
  const onKeyDown = (event: KeyboardEvent) => {
    if (handleKey(model, event)) event.preventDefault();
  };
  const [status, hover, legend] = [model.status.value, model.hover.value, model.colouring.value?.legend];
  return (
    <div ref={pane} class="graph-pane" data-theme={theme} data-status={status.kind} data-layouts={model.layouts.value}>
      {/* Tab goes from the tools to the graph, to what it answered, to the panel. */}
      <SearchBox model={model} onDone={focusGraph} />
      <Toolbar model={model} subject={props.subject} grouped={props.ungrouped.length === 0} />
      <div
        ref={surface}
        class="graph-surface"
        data-testid="graph"
        tabIndex={0}
        role="application"
        aria-roledescription="graph"
        aria-label={label(graph)}
        onKeyDown={onKeyDown}
      >
        <canvas ref={canvases.graph} class="graph-canvas" aria-hidden="true" />
        <canvas ref={canvases.highlights} class="graph-canvas" aria-hidden="true" />
      </div>
      <TraceCard model={model} />
      {legend && !props.legendElsewhere && <LegendBox legend={legend} lines={props.trends ?? null} />}
      <Minimap model={model} canvas={canvases.minimap} />
      {hover && !model.menu.value && <Tooltip model={model} hover={hover} />}
      <GraphMenu model={model} onDone={focusGraph} />
      {status.kind !== 'ready' && <StatusMessage kind={status.kind} message={status.kind === 'failed' ? status.message : ''} />}
      <div class="graph-offscreen" aria-live="polite">
        {model.announcement.value}
      </div>
    </div>
  );
}

type Reference<T> = { current: T | null };
type Canvases = Record<'graph' | 'highlights' | 'minimap', Reference<HTMLCanvasElement>>;

/** Draws the model on the canvases and handles the pointer, while the pane is mounted. */
function useScreen(model: GraphView, surface: Reference<HTMLDivElement>, canvases: Canvases): void {
  useLayoutEffect(() => {
    const [base, above, minimap] = [canvases.graph.current!, canvases.highlights.current!, canvases.minimap.current!];
    const detach = model.attach(new CanvasPainter(model, { graph: base, highlights: above, minimap }));
    const pointer = new PointerInput(model, surface.current!);
    const unregister = registerGraphProbe(probeOf(model, base));
    return () => {
      unregister();
      pointer.close();
      detach();
      model.close();
    };
  }, [model]);
}

const NONE: readonly string[] = [];

/** Passes the page's state to the view. The scopes to expand matter only for a new graph. */
function useShown(model: GraphView, props: GraphPaneProps): void {
  const { graph, overlay, selected, colour, theme, chain, ungrouped, trace, pathStart, expandedScopes, trends, bookmarks = NONE } = props;
  const { kind, statistic, range, verdicts } = colour;
  useLayoutEffect(() => model.setColours(overlay, colour, theme), [model, overlay, kind, statistic, range, verdicts, theme]);
  useLayoutEffect(() => {
    model.lines.set(trends ?? null, model.drawing?.tree ?? null, overlay);
    model.viewport.changed();
  }, [model, trends, overlay, graph]);
  useLayoutEffect(() => model.setUngrouped(ungrouped), [model, ungrouped]);
  useLayoutEffect(() => model.setGraph(graph, expandedScopes ?? null), [model, graph]);
  useLayoutEffect(() => model.select(selected), [model, selected, graph]);
  useLayoutEffect(() => model.setChain(chain), [model, chain]);
  useLayoutEffect(() => {
    model.bookmarks = bookmarks;
    model.viewport.changed();
  }, [model, bookmarks]);
  useLayoutEffect(() => model.setTrace(trace, pathStart), [model, trace, pathStart]);
  useEffect(() => showTrace(model), [model, model.tracer.found.value]);
}

function eventsOf(latest: { current: GraphPaneProps }): GraphEvents {
  return {
    select: (name) => latest.current.onSelect(name),
    hover: (name) => latest.current.onHover?.(name),
    bookmark: latest.current.onBookmark && (() => latest.current.onBookmark?.()),
    expanded: (scopes) => latest.current.onExpandedChange?.(scopes),
    leave: () => latest.current.onLeave?.(),
    ungroup: (paths) => latest.current.onUngroup(paths),
    trends: (graph, rows) => latest.current.onTrends?.(graph, rows),
    trace: (kind, name) => latest.current.onTrace(kind, name),
    retrace: (trace) => latest.current.onRetrace(trace),
  };
}

function label(graph: GraphData | null): string {
  if (!graph) return 'Graph: loading';
  return `Graph ${graph.name}, ${graph.nodeCount} nodes. Use arrow keys to move between nodes, Enter to expand a scope, and slash to search.`;
}

/** `/` and Ctrl+F focus the search from anywhere on the page except a text field. */
function searchKeys(pane: { current: HTMLDivElement | null }): () => void {
  const listener = (event: KeyboardEvent): void => {
    const typing = event.target instanceof HTMLElement && event.target.closest('input, textarea, select, [contenteditable]') !== null;
    const slash = event.key === '/' && !typing && !event.ctrlKey && !event.metaKey && !event.altKey;
    const find = event.key.toLowerCase() === 'f' && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey;
    const input = pane.current?.querySelector<HTMLInputElement>('.graph-search-input');
    if (!(slash || find) || !input || input.offsetParent === null) return;
    event.preventDefault();
    input.focus();
    input.select();
  };
  document.addEventListener('keydown', listener);
  return () => document.removeEventListener('keydown', listener);
}

function StatusMessage({ kind, message }: { kind: 'empty' | 'loading' | 'failed'; message: string }) {
  const text = { empty: 'Loading the graph…', loading: 'Laying out the graph…', failed: 'The graph could not be laid out' }[kind];
  return (
    <div class="graph-status" role={kind === 'failed' ? 'alert' : 'status'}>
      <p>{text}</p>
      {message && <p class="graph-status-detail">{message}. Reload the page. If it happens again, report it with this text.</p>}
    </div>
  );
}

/** The whole graph in the lower right corner; pressing or dragging there moves the view. */
function Minimap({ model, canvas }: { model: GraphView; canvas: Ref<HTMLCanvasElement> }) {
  const dragging = useRef(false);
  const go = (event: PointerEvent) => {
    const { drawing } = model;
    if (!drawing) return;
    const { placed, tree } = drawing;
    const camera = minimapCamera(placed.width[tree.nodeCount]!, placed.height[tree.nodeCount]!);
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    model.viewport.jump({ ...model.viewport.camera, x: toGraphX(camera, MINIMAP, x), y: toGraphY(camera, MINIMAP, y) });
  };
  return (
    <canvas
      ref={canvas}
      class="graph-minimap graph-card"
      aria-hidden="true"
      onPointerDown={(event) => {
        dragging.current = true;
        event.currentTarget.setPointerCapture(event.pointerId);
        go(event);
      }}
      onPointerMove={(event) => dragging.current && go(event)}
      onPointerUp={() => {
        dragging.current = false;
      }}
    />
  );
}

const NO_ROWS = new Int32Array(0);

/** Tooltip at the pointer. */
function Tooltip({ model, hover }: { model: GraphView; hover: Hover }) {
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
