import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { virtualWindow } from '../../lib/virtual_scroll';
import { columnOfStep, roomForNames, type Timeline, worstOfRow } from '../../model/wire/timeline';
import { hoveredStep } from '../../state/node';
import { theme } from '../../state/preferences';
import { step } from '../../state/steps';
import { firstBad, goToCell, selectedRow, toggleRow } from '../../state/tensors/timeline';
import { palette } from '../charts/theme';
import { useSize } from '../kit/use_size';
import { type Cell, CellTip } from './CellTip';
import { markCell, paintCells } from './cells';
import { openRow } from './open_row';
import { RowName, rowId } from './RowName';
import { scale } from './TimelineView';
import { AXIS, ROW, useTreeKeys } from './tree_keys';

/** Names on the left, one strip of cells each; only the rows in view exist. */
export function TimelineGrid({ timeline }: { timeline: Timeline }) {
  const { ref, height } = useSize<HTMLDivElement>();
  const [scroll, setScroll] = useState(0);
  const [hover, setHover] = useState<Cell | null>(null);
  const seen = virtualWindow(scroll, height - AXIS, ROW, timeline.rows.length, 4);
  useFirstBadInView(ref, timeline, height);
  const room = useMemo(() => roomForNames(timeline), [timeline]);
  const { at, go, onKeyDown } = useTreeKeys(timeline, { ref, height }, selectedRow.value);
  const onNameClick = ({ target }: MouseEvent) => {
    const [part, name] = [target as Element, (target as Element).closest<HTMLElement>('[data-index]')];
    const row = timeline.rows[Number(name?.dataset.index ?? -1)];
    if (!row) return;
    go(timeline.rows.indexOf(row));
    if (part.closest('.timeline-sign')) toggleRow(row);
    else openRow(row);
  };
  return (
    <div
      class="timeline-scroll"
      ref={ref}
      onScroll={(event) => setScroll(event.currentTarget.scrollTop)}
      style={{ '--timeline-names': `${room}px` }}
    >
      <Axis timeline={timeline} />
      <div class="timeline-rows" style={{ height: `${timeline.rows.length * ROW}px` }}>
        <div
          class="timeline-names"
          role="tree"
          tabIndex={0}
          aria-label="Rows of the timeline"
          aria-activedescendant={at >= seen.first && at < seen.last ? rowId(at) : undefined}
          onKeyDown={onKeyDown}
          onClick={onNameClick}
          style={{ paddingTop: `${seen.first * ROW}px` }}
        >
          {timeline.rows.slice(seen.first, seen.last).map(({ kind, path }, i) => (
            <RowName
              key={`${kind} ${path}`}
              timeline={timeline}
              index={seen.first + i}
              hovered={hover?.row === seen.first + i}
              active={at === seen.first + i}
            />
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
  const [bad, chosen] = [firstBad.value, selectedRow.value];
  // Who leaves by a key does so without the pointer.
  useEffect(
    () => () => {
      hoveredStep.value = null;
    },
    [],
  );
  const current = step.value === null ? -1 : columnOfStep(timeline, step.value);

  useLayoutEffect(() => {
    const context = prepared(canvas.current, width, height);
    if (!context) return;
    const first = Math.floor(scroll / ROW);
    const last = Math.min(timeline.rows.length, Math.ceil((scroll + height) / ROW));
    const cells = { fine: colours.fine, nan: colours['nan-fill'], inf: colours['inf-fill'], scale: scale.value };
    const band = { first, last, height: ROW, scroll };
    paintCells(context, timeline, band, width, cells);
    if (bad) markCell(context, timeline, bad, band, width, colours.text);
    if (current < 0) return;
    if (chosen >= 0) markCell(context, timeline, { row: chosen, column: current }, band, width, colours.accent);
    context.strokeStyle = colours.accent;
    context.lineWidth = 2;
    context.strokeRect((current * width) / columns - 0.5, 1, Math.max(3, width / columns), height - 2);
  }, [timeline, scroll, width, height, colours, current, chosen, scale.value, bad]);

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
    if (cell) goToCell(cell.row, cell.column);
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
