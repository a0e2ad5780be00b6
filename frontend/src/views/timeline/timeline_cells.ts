/** Paints the timeline's cells: a tensor or scope at a step, by its health or a statistic. */

import { colormap } from '../../lib/colours';
import { cellOf, FINE_CELL, INF_CELL, NAN_CELL, type Timeline, UNSEEN } from '../../model/wire/timeline';
import type { ValueScale } from '../../model/wire/value_scale';

interface CellColours {
  fine: string;
  nan: string;
  inf: string;
  /** Null colours by health alone. */
  scale: ValueScale | null;
}

export function colormapOf(scale: ValueScale): 'diverging' | 'viridis' {
  return scale.diverging ? 'diverging' : 'viridis';
}

/** CSS colour of a cell; null if nothing was captured. */
function cellColour(timeline: Timeline, cell: number, colours: CellColours): string | null {
  const health = timeline.health[cell] ?? UNSEEN;
  if (health === UNSEEN) return null;
  if (health === NAN_CELL) return colours.nan;
  if (health === INF_CELL) return colours.inf;
  const value = timeline.value[cell] as number;
  if (colours.scale === null || health !== FINE_CELL || !Number.isFinite(value)) return colours.fine;
  const table = colormap(colormapOf(colours.scale));
  const place = 3 * Math.round(255 * colours.scale.place(value));
  return `rgb(${table[place]} ${table[place + 1]} ${table[place + 2]})`;
}

interface Band {
  first: number;
  last: number;
  /** Pixels of a row, and how far the list is scrolled. */
  height: number;
  scroll: number;
}

/** Paints the visible rows; equal neighbours are one rectangle, so that long runs cost no more than short ones. */
export function paintCells(context: CanvasRenderingContext2D, timeline: Timeline, band: Band, width: number, colours: CellColours): void {
  const columns = timeline.first.length;
  const unit = width / columns;
  // Wide cells have gaps.
  const gap = unit >= 6 ? 1 : 0;
  for (let row = band.first; row < band.last; row++) {
    const top = row * band.height - band.scroll + 1;
    for (let column = 0; column < columns; ) {
      const colour = cellColour(timeline, cellOf(timeline, row, column), colours);
      let end = column + 1;
      while (gap === 0 && end < columns && cellColour(timeline, cellOf(timeline, row, end), colours) === colour) end++;
      if (colour !== null) {
        context.fillStyle = colour;
        // On whole pixels: partly covered ones would be visible as seams.
        const [left, right] = [Math.round(column * unit), Math.round(end * unit) - gap];
        context.fillRect(left, top, right - left, band.height - 2);
      }
      column = end;
    }
  }
}

/** Width of the narrowest mark. */
const MARK = 7;

/** Frames a cell, even a narrow one. */
export function markCell(
  context: CanvasRenderingContext2D,
  timeline: Timeline,
  cell: { row: number; column: number },
  band: Band,
  width: number,
  colour: string,
): void {
  const unit = width / timeline.first.length;
  const wide = Math.max(MARK, unit);
  const left = Math.min(width - wide, Math.max(0, (cell.column + 0.5) * unit - wide / 2));
  context.strokeStyle = colour;
  context.lineWidth = 2;
  context.strokeRect(left + 1, cell.row * band.height - band.scroll + 1, wide - 2, band.height - 2);
}
