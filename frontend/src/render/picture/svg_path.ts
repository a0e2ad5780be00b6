/** A canvas path in SVG: plain shapes if known, else one `d` per subpath. */

/** A rectangle with round corners, or a path. */
export type Shape =
  | { readonly x: number; readonly y: number; readonly width: number; readonly height: number; readonly radius: number }
  | string;

/** Hundredths of a pixel are precise enough. */
export function numeral(value: number): string {
  return String(Math.round(value * 100) / 100 || 0);
}

const FULL_TURN = 2 * Math.PI;

export class SvgPath {
  private readonly done: Shape[] = [];
  private d = '';
  private x = 0;
  private y = 0;
  private startX = 0;
  private startY = 0;

  /** What was traced so far. */
  get shapes(): readonly Shape[] {
    this.end();
    return this.done;
  }

  moveTo(x: number, y: number): void {
    this.end();
    this.begin(x, y);
  }

  lineTo(x: number, y: number): void {
    if (this.d === '') this.begin(x, y);
    else this.go('L', x, y);
  }

  bezierCurveTo(ax: number, ay: number, bx: number, by: number, x: number, y: number): void {
    if (this.d === '') this.begin(ax, ay);
    this.go(`C${numeral(ax)} ${numeral(ay)} ${numeral(bx)} ${numeral(by)} `, x, y);
  }

  /** A line to `ax, ay` with a rounded corner there towards `bx, by`. */
  arcTo(ax: number, ay: number, bx: number, by: number, radius: number): void {
    if (this.d === '') this.begin(ax, ay);
    const [inX, inY] = unit(this.x - ax, this.y - ay);
    const [outX, outY] = unit(bx - ax, by - ay);
    const turn = inX * outY - inY * outX;
    if (radius === 0 || Math.abs(turn) < 1e-6) {
      this.lineTo(ax, ay);
      return;
    }
    const reach = radius / Math.tan(Math.acos(Math.max(-1, Math.min(1, inX * outX + inY * outY))) / 2);
    this.lineTo(ax + inX * reach, ay + inY * reach);
    this.arcBy(radius, false, turn < 0, ax + outX * reach, ay + outY * reach);
  }

  /** Clockwise, as canvases go. */
  arc(x: number, y: number, radius: number, from: number, to: number): void {
    const at = (angle: number): [number, number] => [x + radius * Math.cos(angle), y + radius * Math.sin(angle)];
    const [x0, y0] = at(from);
    if (this.d === '' || Math.hypot(x0 - this.x, y0 - this.y) > 1e-6) this.lineTo(x0, y0);
    if (to - from >= FULL_TURN) this.arcBy(radius, false, true, ...at(from + Math.PI));
    this.arcBy(radius, to - from > Math.PI && to - from < FULL_TURN, true, ...at(to));
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.roundRect(x, y, width, height, 0);
  }

  roundRect(x: number, y: number, width: number, height: number, radius: number): void {
    this.end();
    if (width <= 0 || height <= 0) return;
    this.done.push({ x, y, width, height, radius: Math.min(radius, width / 2, height / 2) });
  }

  closePath(): void {
    if (this.d === '') return;
    this.d += 'Z';
    const [x, y] = [this.startX, this.startY];
    this.end();
    [this.x, this.y] = [x, y];
  }

  private begin(x: number, y: number): void {
    [this.startX, this.startY] = [x, y];
    this.go('M', x, y);
  }

  private go(how: string, x: number, y: number): void {
    this.d += `${how}${numeral(x)} ${numeral(y)}`;
    [this.x, this.y] = [x, y];
  }

  private arcBy(radius: number, large: boolean, clockwise: boolean, x: number, y: number): void {
    this.go(`A${numeral(radius)} ${numeral(radius)} 0 ${large ? 1 : 0} ${clockwise ? 1 : 0} `, x, y);
  }

  /** A point alone draws nothing. */
  private end(): void {
    if (/[A-LN-Z]/.test(this.d)) this.done.push(this.d);
    this.d = '';
  }
}

function unit(x: number, y: number): [number, number] {
  const length = Math.hypot(x, y) || 1;
  return [x / length, y / length];
}

/** The shape as a separate element. */
export function shapeElement(shape: Shape): string {
  if (typeof shape === 'string') return `<path d="${shape}"/>`;
  const { x, y, width, height, radius } = shape;
  const round = radius > 0 ? ` rx="${numeral(radius)}"` : '';
  return `<rect x="${numeral(x)}" y="${numeral(y)}" width="${numeral(width)}" height="${numeral(height)}"${round}/>`;
}

/** The shape as a part of a path. */
export function shapePath(shape: Shape): string {
  if (typeof shape === 'string') return shape;
  const { x, y, width, height, radius } = shape;
  if (radius <= 0) return `M${numeral(x)} ${numeral(y)}h${numeral(width)}v${numeral(height)}h${numeral(-width)}Z`;
  const corner = (dx: number, dy: number) => `a${numeral(radius)} ${numeral(radius)} 0 0 1 ${numeral(dx)} ${numeral(dy)}`;
  const [across, down] = [width - 2 * radius, height - 2 * radius];
  return (
    `M${numeral(x + radius)} ${numeral(y)}h${numeral(across)}${corner(radius, radius)}v${numeral(down)}${corner(-radius, radius)}` +
    `h${numeral(-across)}${corner(-radius, -radius)}v${numeral(-down)}${corner(radius, -radius)}Z`
  );
}
