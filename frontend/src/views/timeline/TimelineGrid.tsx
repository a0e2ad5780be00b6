import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { formatCount, formatNumber } from '../../lib/format';
import { virtualWindow } from '../../lib/virtual';
import { visible } from '../../lib/visible';
import { splitScope } from '../../model/tensor_name';
import {
  cellOf,
  columnOfStep,
  INF_CELL,
  NAN_CELL,
  rowLabel,
  stepOfCell,
  type Timeline,
  type TimelineRow,
  UNSEEN,
  worstOfRow,
} from '../../model/timeline';
import { hoveredStep } from '../../state/node';
import { theme } from '../../state/preferences';
import { selectedNode, selectNode } from '../../state/selection';
import { goToStep, step } from '../../state/steps';
import { timelineStatistic } from '../../state/timeline';
import { palette } from '../charts/theme';
import { moveFocus } from '../kit/Popover';
import { useSize } from '../kit/use_size';
import { paintCells } from './cells';
import { lookInto, scale } from './TimelineView';

const ROW = 22;
const AXIS = 20;

interface Cell {
  row: number;
  column: number;
  x: number;
  y: number;
}

/** Names on the left, one strip of cells each; only the rows in view exist. */
export function TimelineGrid({ timeline }: { timeline: Timeline }) {
  const { ref, height } = useSize<HTMLDivElement>();
  const [scroll, setScroll] = useState(0);
  const [hover, setHover] = useState<Cell | null>(null);
  const seen = virtualWindow(scroll, height - AXIS, ROW, timeline.rows.length, 4);
  useFirstBadInView(ref, timeline, height);
  const onKeyDown = (event: KeyboardEvent) => {
    const offset = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (offset === 0) return;
    event.preventDefault();
    moveFocus(ref.current, offset);
  };
  return (
    <div class="timeline-scroll" ref={ref} onScroll={(event) => setScroll(event.currentTarget.scrollTop)} onKeyDown={onKeyDown}>
      <Axis timeline={timeline} />
      <div class="timeline-rows" style={{ height: `${timeline.rows.length * ROW}px` }}>
        <div class="timeline-names" style={{ paddingTop: `${seen.first * ROW}px` }}>
          {timeline.rows.slice(seen.first, seen.last).map((row, i) => (
            <RowName key={row.path} row={row} timeline={timeline} index={seen.first + i} hovered={hover?.row === seen.first + i} />
          ))}
        </div>
        <Strips
          timeline={timeline}
          scroll={scroll}
          height={Math.min(height - AXIS, timeline.rows.length * ROW)}
          hover={hover}
          setHover={setHover}
        />
      </div>
    </div>
  );
}

/** A newly opened scope shows its first bad row, wherever that stands. */
function useFirstBadInView(ref: { current: HTMLDivElement | null }, timeline: Timeline, height: number): void {
  const seen = useRef<string | null>(null);
  useEffect(() => {
    if (!ref.current || height === 0 || seen.current === timeline.scope) return;
    seen.current = timeline.scope;
    const bad = timeline.rows.findIndex((_, row) => worstOfRow(timeline, row).step !== null);
    ref.current.scrollTop = bad * ROW > height - 4 * ROW ? (bad - CONTEXT_ROWS) * ROW : 0;
  }, [timeline, height]);
}

/** Rows above the first bad one that stay in view. */
const CONTEXT_ROWS = 6;

/** How many steps are written above the cells. */
const TICKS = 6;

function Axis({ timeline }: { timeline: Timeline }) {
  const columns = timeline.first.length;
  const every = Math.max(1, Math.ceil(columns / TICKS));
  const ticks = Array.from({ length: Math.ceil(columns / every) }, (_, i) => i * every);
  return (
    <div class="timeline-axis num" aria-hidden="true">
      <span>step</span>
      <div class="timeline-ticks">
        {ticks.map((column) => (
          <span key={column} style={{ left: `${(100 * (column + 0.5)) / columns}%` }}>
            {timeline.first[column]}
          </span>
        ))}
      </div>
    </div>
  );
}

/** A node is selected, a scope is looked into. */
function open(row: TimelineRow): void {
  if (row.node !== '') selectNode(row.node);
  else lookInto(row.path);
}

interface RowNameProps {
  row: TimelineRow;
  timeline: Timeline;
  index: number;
  hovered: boolean;
}

function RowName({ row, timeline, index, hovered }: RowNameProps) {
  const worst = worstOfRow(timeline, index);
  const word = worst.health === NAN_CELL ? 'NaN' : 'Inf';
  const health = worst.step === null ? '' : `, ${word} from step ${worst.step}`;
  const { scope, label } = splitScope(rowLabel(row.path, timeline.scope));
  return (
    <button
      type="button"
      class="timeline-name"
      onClick={() => open(row)}
      title={`${visible(row.path)}${health}`}
      data-health={worst.health === NAN_CELL ? 'nan' : worst.health === INF_CELL ? 'inf' : 'fine'}
      data-hovered={hovered}
      data-selected={row.node !== '' && row.node === selectedNode.value}
      data-testid="timeline-row"
      data-path={row.path}
    >
      <span class="timeline-label">
        <span>{scope}</span>
        <span>{label}</span>
      </span>
      {row.node === '' && (
        <span class="faint num">
          {formatCount(row.nodes)}
          <span class="offscreen"> nodes</span>
        </span>
      )}
      {health && <span class="offscreen">{health}</span>}
    </button>
  );
}

interface StripsProps {
  timeline: Timeline;
  scroll: number;
  height: number;
  hover: Cell | null;
  setHover: (cell: Cell | null) => void;
}

function Strips({ timeline, scroll, height, hover, setHover }: StripsProps) {
  const { ref, width } = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const colours = useMemo(() => palette(theme.value), [theme.value]);
  const columns = timeline.first.length;
  const current = step.value === null ? -1 : columnOfStep(timeline, step.value);

  useLayoutEffect(() => {
    const context = prepared(canvas.current, width, height);
    if (!context) return;
    const first = Math.floor(scroll / ROW);
    const last = Math.min(timeline.rows.length, Math.ceil((scroll + height) / ROW));
    const cells = { fine: colours.fine, nan: colours['nan-fill'], inf: colours['inf-fill'], scale: scale.value };
    paintCells(context, timeline, { first, last, height: ROW, scroll }, width, cells);
    if (current < 0) return;
    context.strokeStyle = colours.accent;
    context.lineWidth = 2;
    context.strokeRect((current * width) / columns - 0.5, 1, Math.max(3, width / columns), height - 2);
  }, [timeline, scroll, width, height, colours, current, scale.value]);

  const cellAt = (event: MouseEvent): Cell | null => {
    const box = canvas.current?.getBoundingClientRect();
    if (!box) return null;
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const cell = { row: Math.floor((y + scroll) / ROW), column: Math.floor((x / box.width) * columns), x, y };
    return cell.row >= 0 && cell.row < timeline.rows.length && cell.column >= 0 && cell.column < columns ? cell : null;
  };
  const point = (cell: Cell | null) => {
    setHover(cell);
    hoveredStep.value = cell && (timeline.first[cell.column] as number);
  };
  const onClick = (event: MouseEvent) => {
    const cell = cellAt(event);
    if (!cell) return;
    goToStep(stepOfCell(timeline, cell.row, cell.column));
    open(timeline.rows[cell.row] as TimelineRow);
  };
  return (
    <div class="timeline-strips" ref={ref}>
      <canvas
        ref={canvas}
        role="img"
        aria-label="Steps across, scopes down; the names on the left say the health of each row"
        onPointerMove={(event) => point(cellAt(event))}
        onPointerLeave={() => point(null)}
        onClick={onClick}
        data-testid="timeline-cells"
      />
      {hover && <CellTip timeline={timeline} cell={hover} width={width} height={height} top={scroll} />}
    </div>
  );
}

function prepared(canvas: HTMLCanvasElement | null, width: number, height: number): CanvasRenderingContext2D | null {
  const context = canvas?.getContext('2d');
  if (!canvas || !context || width === 0) return null;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  context.scale(ratio, ratio);
  return context;
}

const TIP_WIDTH = 260;

function CellTip({ timeline, cell, width, height, top }: { timeline: Timeline; cell: Cell; width: number; height: number; top: number }) {
  const at = cellOf(timeline, cell.row, cell.column);
  const [first, last] = [timeline.first[cell.column], timeline.last[cell.column]];
  const health = timeline.health[at] ?? UNSEEN;
  const statistic = timelineStatistic.value;
  const facts = [
    health === UNSEEN ? 'not captured' : health === NAN_CELL ? 'NaN' : health === INF_CELL ? 'Inf' : 'finite',
    health !== UNSEEN && statistic !== null ? `${statistic.replace('_', ' ')} ${formatNumber(timeline.value[at] as number)}` : '',
  ];
  const left = Math.max(0, Math.min(cell.x + 14, width - TIP_WIDTH));
  const below = cell.y + 60 < height;
  return (
    <div
      class="tooltip num"
      style={{ left: `${left}px`, top: `${top + (below ? cell.y + 16 : cell.y - 52)}px`, maxWidth: `${TIP_WIDTH}px` }}
    >
      <b class="truncate">{visible((timeline.rows[cell.row] as TimelineRow).path)}</b>
      <div>
        {first === last ? `step ${first}` : `steps ${first}–${last}`} · {facts.filter(Boolean).join(' · ')}
      </div>
    </div>
  );
}
