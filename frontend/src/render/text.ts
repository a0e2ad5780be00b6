/** Measures and shortens text for the canvas, with a cache: labels are the same in each frame. */

import { elide, type SiblingNames } from '../model/graph/labels';
import { FONT } from './theme';

/** Widths are measured at this size and scaled. */
const MEASURED_AT = 20;
const MOST_REMEMBERED = 20_000;

export type Weight = 400 | 500 | 600;

export function fontOf(size: number, weight: Weight): string {
  return `${weight} ${size}px ${FONT}`;
}

/** Text grows with the zoom up to this: beyond it there is room for more than letters. */
const MOST_SCALE = 1.4;

export const textScale = (zoom: number): number => Math.min(zoom, MOST_SCALE);

/** Half pixels, to limit the number of fonts. */
export function roundSize(size: number): number {
  return Math.round(size * 2) / 2;
}

export class TextFitter {
  private readonly widths = new Map<string, number>();
  private readonly fitted = new Map<string, string>();

  constructor(private readonly context: CanvasRenderingContext2D) {}

  /** Must be called when a web font has loaded. */
  forget(): void {
    this.widths.clear();
    this.fitted.clear();
  }

  width(text: string, size: number, weight: Weight): number {
    const key = `${weight}${text}`;
    let width = this.widths.get(key);
    if (width === undefined) {
      const before = this.context.font;
      this.context.font = fontOf(MEASURED_AT, weight);
      width = this.context.measureText(text).width;
      this.context.font = before;
      if (this.widths.size > MOST_REMEMBERED) this.widths.clear();
      this.widths.set(key, width);
    }
    return (width * size) / MEASURED_AT;
  }

  /**
   * The text if it fits, else with an ellipsis in the middle, or with its distinguishing part if siblings would look alike. Empty if too
   * little fits.
   */
  fit(text: string, size: number, weight: Weight, room: number, siblings?: SiblingNames): string {
    if (this.width(text, size, weight) <= room) return text;
    // In steps of a hundredth of the font size, so that zooming hits the cache.
    const units = Math.floor((room / size) * 10);
    const key = `${weight}${units}${text}`;
    let short = this.fitted.get(key);
    if (short === undefined) {
      short = this.shorten(text, weight, units / 10);
      if (this.fitted.size > MOST_REMEMBERED) this.fitted.clear();
      this.fitted.set(key, short);
    }
    return short && siblings ? this.distinct(text, weight, units / 10, short.length - 1, siblings) : short;
  }

  /** As many letters as the shortened text has, or a few less if they are wider. */
  private distinct(text: string, weight: Weight, ems: number, keep: number, siblings: SiblingNames): string {
    for (let kept = keep; kept >= 2; kept--) {
      const short = siblings.shorten(text, kept);
      if (this.width(short, 1, weight) <= ems) return short;
    }
    return elide(text, keep);
  }

  private shorten(text: string, weight: Weight, ems: number): string {
    let low = 0;
    let high = text.length - 1;
    while (low < high) {
      const keep = Math.ceil((low + high) / 2);
      if (this.width(elide(text, keep), 1, weight) <= ems) low = keep;
      else high = keep - 1;
    }
    return low >= 2 ? elide(text, low) : '';
  }
}
