import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { sizedContext } from '../../lib/canvas';
import { counted } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import { virtualWindow } from '../../lib/virtual_scroll';
import {
  cellOf,
  columnOfStep,
  NAN_CELL,
  roomForNames,
  type Timeline,
  type TimelineRow,
  UNSEEN,
  worstOfRow,
} from '../../model/wire/timeline';
import { STATISTIC_TITLES } from '../../model/wire/value_scale';
import { hoveredStep } from '../../state/graph/node';
import { theme } from '../../state/page/preferences';
import { step } from '../../state/steps';
import { firstBad, goToCell, selectedRow, timelineScale, timelineStatistic, toggleRow } from '../../state/tensors/timeline';
import { chartColours } from '../charts/chart_theme';
import { useSize } from '../kit/hooks';
import { RowName, rowId } from './RowName';
import { markCell, paintCells } from './timeline_cells';
import { AXIS, openRow, ROW, useTreeKeys } from './timeline_keys';

/** Names on the left, one strip of cells each; only visible rows are rendered. */
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

/** A newly expanded scope scrolls to its first bad row. */
function useFirstBadInView(ref: { current: HTMLDivElement | null }, timeline: Timeline, height: number): void {
  const seen = useRef<string | null>(null);
  useEffect(() => {
    if (!ref.current || height === 0 || seen.current === timeline.scope) return;
    seen.current = timeline.scope;
    const bad = timeline.rows.findIndex((_, row) => worstOfRow(timeline, row).step !== null);
    ref.current.scrollTop = bad * ROW > height - 4 * ROW ? (bad - CONTEXT_ROWS) * ROW : 0;
  }, [timeline, height]);
}

/** Number of visible rows above the first bad one. */
const CONTEXT_ROWS = 6;

/** Maximum number of step labels above the cells. */
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
  const colours = useMemo(() => chartColours(theme.value), [theme.value]);
  const columns = timeline.first.length;
  const [bad, chosen] = [firstBad.value, selectedRow.value];
  // Keyboard navigation leaves without the pointer.
  useEffect(
    () => () => {
      hoveredStep.value = null;
    },
    [],
  );
  const current = step.value === null ? -1 : columnOfStep(timeline, step.value);

  useLayoutEffect(() => {
    const context = sizedContext(canvas.current, width, height);
    if (!context) return;
    const first = Math.floor(scroll / ROW);
    const last = Math.min(timeline.rows.length, Math.ceil((scroll + height) / ROW));
    const cells = { fine: colours.fine, nan: colours['nan-fill'], inf: colours['inf-fill'], scale: timelineScale.value };
    const band = { first, last, height: ROW, scroll };
    paintCells(context, timeline, band, width, cells);
    if (bad) markCell(context, timeline, bad, band, width, colours.text);
    if (current < 0) return;
    if (chosen >= 0) markCell(context, timeline, { row: chosen, column: current }, band, width, colours.accent);
    context.strokeStyle = colours.accent;
    context.lineWidth = 2;
    context.strokeRect((current * width) / columns - 0.5, 1, Math.max(3, width / columns), height - 2);
  }, [timeline, scroll, width, height, colours, current, chosen, timelineScale.value, bad]);

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
        aria-label="Steps across, scopes down; row names show health"
        onPointerMove={(event) => point(cellAt(event))}
        onPointerLeave={() => point(null)}
        onClick={onClick}
        data-testid="timeline-cells"
      />
      {hover && <CellTip timeline={timeline} cell={hover} width={width} height={height} top={scroll} />}
    </div>
  );
}

const WIDTH = 320;

interface Cell {
  row: number;
  column: number;
  x: number;
  y: number;
}

interface CellTipProps {
  timeline: Timeline;
  cell: Cell;
  width: number;
  height: number;
  top: number;
}

/** The scope, the step, and the tensor that a cell shows, with its exact number. */
function CellTip({ timeline, cell, width, height, top }: CellTipProps) {
  const at = cellOf(timeline, cell.row, cell.column);
  const [first, last] = [timeline.first[cell.column], timeline.last[cell.column]];
  const [step, visit] = [timeline.step[at] as number, timeline.visit[at] as number];
  const seen = timeline.tensor.at(at) !== '';
  // Among finite tensors none is worse if only health is shown.
  const named = seen && (timelineStatistic.value !== null || (timeline.bad[at] as number) > 0);
  const steps = first === last ? `step ${first}` : `steps ${first}–${last}${named ? `, value from step ${step}` : ''}`;
  const facts = [steps, visit > 0 ? `iteration ${visit}` : '', ...numbers(timeline, at)];
  const left = Math.max(0, Math.min(cell.x + 14, width - WIDTH));
  const below = cell.y + 76 < height;
  return (
    <div
      class="tooltip num"
      style={{ left: `${left}px`, top: `${top + (below ? cell.y + 16 : cell.y - 68)}px`, maxWidth: `${WIDTH}px` }}
      data-testid="timeline-tip"
    >
      <b class="truncate">{visible((timeline.rows[cell.row] as TimelineRow).path)}</b>
      <div>{facts.filter(Boolean).join(' · ')}</div>
      {named && <div class="truncate">{visible(timeline.tensor.at(at))}</div>}
    </div>
  );
}

function numbers(timeline: Timeline, at: number): string[] {
  if (timeline.tensor.at(at) === '') return ['not captured'];
  const [health, bad, value] = [timeline.health[at] as number, timeline.bad[at] as number, timeline.value[at] as number];
  const statistic = timelineStatistic.value;
  if (bad > 0) return [`${counted(bad, 'element')} ${health === NAN_CELL ? 'NaN' : 'infinite'}`];
  if (statistic === null) return [health === UNSEEN ? 'not counted' : 'finite'];
  if (Number.isNaN(value)) return ['No float tensor here'];
  return [`${STATISTIC_TITLES[statistic]} ${statistic.endsWith('_share') ? 100 * value : value}`];
}
