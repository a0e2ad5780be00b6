/** Puts rectangles on shelves, from left to right and top to bottom, as wide as a pleasant proportion asks. */

export interface Rectangle {
  readonly width: number;
  readonly height: number;
  /** Sizes with all scopes closed: they decide which rectangle stands on which shelf. */
  readonly restWidth: number;
  readonly restHeight: number;
}

export interface Packing {
  readonly width: number;
  readonly height: number;
  /** Top left corners. */
  readonly x: number[];
  readonly y: number[];
}

/** Wanted width by height. */
const PROPORTION = 1.6;
/** With scopes opened the shelves stay as they are up to these proportions. */
const [NARROWEST, WIDEST] = [0.2, 6];

export function pack(rectangles: readonly Rectangle[], gap: number): Packing {
  const only = rectangles[0];
  if (rectangles.length === 1 && only) return { width: only.width, height: only.height, x: [0], y: [0] };
  const rest = shelves(
    rectangles.map((r) => r.restWidth),
    rectangles.map((r) => r.restHeight),
    gap,
  );
  const packing = stack(rectangles, rest, gap);
  const proportion = packing.width / Math.max(1, packing.height);
  if (proportion > NARROWEST && proportion < WIDEST) return packing;
  const now = shelves(
    rectangles.map((r) => r.width),
    rectangles.map((r) => r.height),
    gap,
  );
  return stack(rectangles, now, gap);
}

/** Index of the first rectangle of each shelf. */
function shelves(widths: readonly number[], heights: readonly number[], gap: number): number[] {
  let [area, widest] = [0, 0];
  for (let i = 0; i < widths.length; i++) {
    area += (widths[i]! + gap) * (heights[i]! + gap);
    widest = Math.max(widest, widths[i]!);
  }
  const limit = Math.max(Math.sqrt(area * PROPORTION), widest);
  const starts = [0];
  let x = 0;
  for (let i = 0; i < widths.length; i++) {
    if (x > 0 && x + widths[i]! > limit) {
      starts.push(i);
      x = 0;
    }
    x += widths[i]! + gap;
  }
  return starts;
}

function stack(rectangles: readonly Rectangle[], starts: readonly number[], gap: number): Packing {
  const x: number[] = [];
  const y: number[] = [];
  let [width, top] = [0, 0];
  starts.forEach((start, shelf) => {
    let [left, tallest] = [0, 0];
    for (let i = start; i < (starts[shelf + 1] ?? rectangles.length); i++) {
      x.push(left);
      y.push(top);
      left += rectangles[i]!.width + gap;
      tallest = Math.max(tallest, rectangles[i]!.height);
    }
    width = Math.max(width, left - gap);
    top += tallest + gap;
  });
  return { width, height: Math.max(0, top - gap), x, y };
}
