/** Footer of a picture of the graph: its caption and its legend. */

import { visible } from '../../lib/text/visible_text';
import type { Legend, LegendItem } from '../colouring';
import type { DrawingContext } from '../frame';
import { fontOf, type TextFitter, type Weight } from '../text';
import type { BoxStyle, Theme } from '../theme';

interface FooterContent {
  /** Empty for none. */
  readonly caption: string;
  readonly legend: Legend | null;
}

interface Cell {
  readonly width: number;
  /** Draws itself around the middle of its line. */
  draw(pen: DrawingContext, x: number, middle: number): void;
}

const FONT = 11;
const LINE = 20;
const SCALE_LINE = 34;
const PADDING = 12;
const GAP = 16;
const SWATCH = 22;
const SCALE_WIDTH = 220;

export class Footer {
  private readonly lines: { readonly height: number; readonly cells: Cell[] }[] = [];
  readonly height: number;

  constructor(
    private readonly fitter: TextFitter,
    private readonly theme: Theme,
    { caption, legend }: FooterContent,
    private readonly width: number,
  ) {
    const room = width - 2 * PADDING;
    if (caption !== '')
      this.lines.push({ height: LINE, cells: [this.text(fitter.fit(visible(caption), FONT, 500, room), 500, theme.node.text)] });
    if (legend) this.flow(this.legendCells(legend, room), legend.kind === 'scale' ? SCALE_LINE : LINE, room);
    const content = this.lines.reduce((sum, line) => sum + line.height, 0);
    this.height = content === 0 ? 0 : content + 2 * PADDING - 8;
  }

  draw(pen: DrawingContext, top: number): void {
    if (this.height === 0) return;
    pen.fillStyle = this.theme.scopes[1]!;
    pen.fillRect(0, top, this.width, this.height);
    pen.fillStyle = this.theme.scopeBorder;
    pen.fillRect(0, top, this.width, 1);
    let y = top + PADDING - 4;
    for (const { height, cells } of this.lines) {
      let x = PADDING;
      for (const cell of cells) {
        cell.draw(pen, x, y + height / 2);
        x += cell.width + GAP;
      }
      y += height;
    }
  }

  /** As many cells per line as fit. */
  private flow(cells: readonly Cell[], height: number, room: number): void {
    let left = -1;
    for (const cell of cells) {
      if (left < cell.width) {
        this.lines.push({ height, cells: [] });
        left = room;
      }
      this.lines.at(-1)?.cells.push(cell);
      left -= cell.width + GAP;
    }
  }

  private legendCells(legend: Legend, room: number): Cell[] {
    const title = this.text(legend.title, 600, this.theme.node.text);
    if (legend.kind === 'scale') {
      const reach = legend.reach === '' ? [] : [this.text(legend.reach, 400, this.theme.edgeLabel)];
      return [title, this.scale(legend), ...reach, ...legend.others.map(({ label, style, marker }) => this.swatch(style, label, marker))];
    }
    return [title, ...legend.items.filter((item) => item.count > 0).map((item) => this.item(item, room))];
  }

  private item({ label, style, count, marker }: LegendItem, room: number): Cell {
    const number = count.toLocaleString('en-US');
    return this.swatch(style, `${this.fitter.fit(visible(label), FONT, 400, room - SWATCH - 60)}  ${number}`, marker);
  }

  private text(text: string, weight: Weight, colour: string): Cell {
    return {
      width: this.fitter.width(text, FONT, weight),
      draw: (pen, x, middle) => write(pen, text, x, middle, weight, colour),
    };
  }

  private swatch(style: BoxStyle, label: string, marker?: LegendItem['marker']): Cell {
    const text = this.text(label, 400, this.theme.edgeLabel);
    return {
      width: SWATCH + text.width,
      draw: (pen, x, middle) => {
        pen.beginPath();
        pen.roundRect(x + 0.5, middle - 4.5, 15, 9, 2.5);
        pen.fillStyle = style.fill;
        pen.fill();
        pen.strokeStyle = style.border;
        pen.lineWidth = 1;
        pen.stroke();
        drawMarker(pen, x + 14, middle - 4, style.border, marker);
        text.draw(pen, x + SWATCH, middle);
      },
    };
  }

  private scale({ colours, ticks }: Extract<Legend, { kind: 'scale' }>): Cell {
    const inset = 28;
    const across = SCALE_WIDTH - 2 * inset;
    // With long numbers, every other one, so that none touch.
    const widths = ticks.map(({ label }) => this.fitter.width(label, FONT - 1.5, 400));
    const touches = ticks.some(({ place }, i) => i > 0 && (place - ticks[i - 1]!.place) * across < (widths[i]! + widths[i - 1]!) / 2 + 4);
    const every = touches ? 2 : 1;
    return {
      width: SCALE_WIDTH,
      draw: (pen, x, middle) => {
        colours.forEach((colour, i) => {
          pen.fillStyle = colour;
          pen.fillRect(x + inset + (i * across) / colours.length, middle - 12, across / colours.length + 0.4, 10);
        });
        ticks.forEach(({ place, label }, i) => {
          if (i % every === 0) write(pen, label, x + inset + place * across, middle + 8, 400, this.theme.edgeLabel, 'center');
        });
      },
    };
  }
}

function drawMarker(pen: DrawingContext, x: number, y: number, colour: string, marker: LegendItem['marker']): void {
  if (!marker) return;
  pen.fillStyle = colour;
  pen.beginPath();
  if (marker === 'nan') pen.arc(x, y, 3, 0, 2 * Math.PI);
  else {
    pen.moveTo(x, y - 3);
    pen.lineTo(x + 3.4, y + 3);
    pen.lineTo(x - 3.4, y + 3);
    pen.closePath();
  }
  pen.fill();
}

function write(
  pen: DrawingContext,
  text: string,
  x: number,
  middle: number,
  weight: Weight,
  colour: string,
  align: CanvasTextAlign = 'left',
): void {
  pen.font = fontOf(align === 'center' ? FONT - 1.5 : FONT, weight);
  pen.textAlign = align;
  pen.textBaseline = 'middle';
  pen.fillStyle = colour;
  pen.fillText(text, x, middle + 0.5);
}
