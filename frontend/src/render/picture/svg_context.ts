/**
 * Draws into an SVG document with the interface of a 2D canvas: boxes, lines and text remain such. Consecutive elements of one style
 * share a group. Overlapping shapes drawn in one go must be opaque or one path, because transparency adds up.
 */

import type { DrawingContext } from '../frame';
import { numeral, type Shape, SvgPath, shapeElement, shapePath } from './svg_path';

/** Font metrics of a canvas. */
export interface FontMeasure {
  width(text: string, font: string): number;
  /** Distance of the baseline below the middle of a line. */
  drop(font: string): number;
}

type Paint = CanvasRenderingContext2D['fillStyle'];

interface Ground {
  readonly shape: Shape;
  readonly style: string;
  holes: string;
}

const ENCODER = new TextEncoder();
/** Characters. */
const PART = 1 << 16;

export class SvgContext implements DrawingContext {
  fillStyle: Paint = '#000000';
  strokeStyle: Paint = '#000000';
  lineWidth = 1;
  lineJoin: CanvasLineJoin = 'miter';
  globalAlpha = 1;
  font = '10px sans-serif';
  textAlign: CanvasTextAlign = 'start';
  textBaseline: CanvasTextBaseline = 'alphabetic';

  /** The output, encoded as it grows: encoding 25 MB at once takes half a second. */
  private readonly parts: Uint8Array<ArrayBuffer>[] = [];
  private text = '';
  private group = '';
  private path = new SvgPath();
  private dash: readonly number[] = [];
  /** Fill of the path, until it is known whether it is also stroked. */
  private filled: string | null = null;
  /** A rectangle into which holes may still be cut. */
  private ground: Ground | null = null;

  constructor(private readonly fonts: FontMeasure) {}

  setLineDash(dash: number[]): void {
    this.dash = dash;
  }

  beginPath(): void {
    this.flush();
    this.path = new SvgPath();
  }

  closePath(): void {
    this.path.closePath();
  }

  moveTo(x: number, y: number): void {
    this.path.moveTo(x, y);
  }

  lineTo(x: number, y: number): void {
    this.path.lineTo(x, y);
  }

  bezierCurveTo(ax: number, ay: number, bx: number, by: number, x: number, y: number): void {
    this.path.bezierCurveTo(ax, ay, bx, by, x, y);
  }

  arcTo(ax: number, ay: number, bx: number, by: number, radius: number): void {
    this.path.arcTo(ax, ay, bx, by, radius);
  }

  arc(x: number, y: number, radius: number, from: number, to: number): void {
    this.path.arc(x, y, radius, from, to);
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.path.rect(x, y, width, height);
  }

  roundRect(x: number, y: number, width: number, height: number, radius?: number | DOMPointInit | Iterable<number | DOMPointInit>): void {
    this.path.roundRect(x, y, width, height, typeof radius === 'number' ? radius : 0);
  }

  fill(): void {
    this.flush();
    this.filled = paint('fill', this.fillStyle, this.globalAlpha);
  }

  stroke(): void {
    const fill = this.filled ?? ' fill="none"';
    this.filled = null;
    this.flush();
    this.drawPath(fill + this.strokeAttributes());
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    this.flush();
    const style = paint('fill', this.fillStyle, this.globalAlpha);
    this.ground = { shape: { x, y, width, height, radius: 0 }, style, holes: '' };
  }

  /** Cuts a hole into the last filled rectangle, to show what is below. An empty picture is already clear. */
  clearRect(x: number, y: number, width: number, height: number): void {
    if (this.ground) this.ground.holes += shapePath({ x, y, width, height, radius: 0 });
  }

  fillText(text: string, x: number, y: number): void {
    this.flush();
    this.drawText(paint('fill', this.fillStyle, this.globalAlpha), '', text, x, y);
  }

  /** Halo around the next text; a single element with `paint-order` would hide the letters in programs that ignore it. */
  strokeText(text: string, x: number, y: number): void {
    this.flush();
    const style = ` fill="none"${this.strokeAttributes()} stroke-linejoin="${this.lineJoin}"`;
    this.drawText(style, ' aria-hidden="true" style="user-select:none"', text, x, y);
  }

  /** Writes pending elements; call it before other elements. */
  flush(): void {
    const { filled, ground } = this;
    [this.filled, this.ground] = [null, null];
    if (filled !== null) this.drawPath(filled);
    if (ground?.holes) this.put(ground.style, `<path fill-rule="evenodd" d="${shapePath(ground.shape)}${ground.holes}"/>`);
    else if (ground) this.put(ground.style, shapeElement(ground.shape));
  }

  /** The document, in consecutive pieces. `family`: font names; `title`: for screen readers. */
  finish({ width, height, family, title }: { width: number; height: number; family: string; title: string }): Uint8Array<ArrayBuffer>[] {
    this.flush();
    const size = `width="${numeral(width)}" height="${numeral(height)}" viewBox="0 0 ${numeral(width)} ${numeral(height)}"`;
    const head =
      '<?xml version="1.0" encoding="UTF-8"?>\n' +
      `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="${escaped(family)}" stroke-miterlimit="10" xml:space="preserve">` +
      `<title>${escaped(title)}</title>\n`;
    this.text += this.group === '' ? '</svg>\n' : '</g></svg>\n';
    this.encode();
    return [ENCODER.encode(head), ...this.parts];
  }

  private drawPath(style: string): void {
    const { shapes } = this.path;
    // Transparent shapes must not overlap themselves.
    if (style.includes('-opacity')) {
      if (shapes.length > 0) this.put(style, `<path d="${shapes.map(shapePath).join('')}"/>`);
    } else for (const shape of shapes) this.put(style, shapeElement(shape));
  }

  private drawText(style: string, attributes: string, text: string, x: number, y: number): void {
    const [, weight = '400', size = '10'] = /^(\d+) ([\d.]+)px/.exec(this.font) ?? [];
    const anchor =
      { center: ' text-anchor="middle"', right: ' text-anchor="end"', end: ' text-anchor="end"' }[this.textAlign as string] ?? '';
    const base = this.textBaseline === 'middle' ? y + this.fonts.drop(this.font) : y;
    // Fits its box in another font, too.
    const length = ` textLength="${numeral(this.fonts.width(text, this.font))}" lengthAdjust="spacingAndGlyphs"`;
    this.put(
      ` font-size="${size}" font-weight="${weight}"${anchor}${style}`,
      `<text x="${numeral(x)}" y="${numeral(base)}"${length}${attributes}>${escaped(text)}</text>`,
    );
  }

  private put(style: string, element: string): void {
    if (style !== this.group) {
      this.text += this.group === '' ? `<g${style}>\n` : `</g><g${style}>\n`;
      this.group = style;
    }
    this.text += `${element}\n`;
    if (this.text.length > PART) this.encode();
  }

  private encode(): void {
    this.parts.push(ENCODER.encode(this.text));
    this.text = '';
  }

  private strokeAttributes(): string {
    const dash = this.dash.length > 0 ? ` stroke-dasharray="${this.dash.map(numeral).join(' ')}"` : '';
    return `${paint('stroke', this.strokeStyle, this.globalAlpha)} stroke-width="${numeral(this.lineWidth)}"${dash}`;
  }
}

/** Splits `#rrggbbaa` into colour and opacity: some SVG readers do not accept eight digits. */
function paint(name: 'fill' | 'stroke', colour: Paint, alpha: number): string {
  const text = String(colour);
  const opacity = alpha * (text.length === 9 ? Number.parseInt(text.slice(7), 16) / 255 : 1);
  return ` ${name}="${text.slice(0, 7)}"${opacity < 1 ? ` ${name}-opacity="${numeral(opacity)}"` : ''}`;
}

/** Characters that XML does not allow, even escaped. */
const NOT_XML = /[^\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;
const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export function escaped(text: string): string {
  return text.replace(NOT_XML, '').replace(/[&<>"]/g, (character) => ENTITIES[character] ?? '');
}
