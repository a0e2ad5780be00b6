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
  const rest = shelves(
    rectangles.map((r) => [r.restWidth, r.restHeight]),
    gap,
  );
  const packing = stack(rectangles, rest, gap);
  const proportion = packing.width / Math.max(1, packing.height);
  if (proportion > NARROWEST && proportion < WIDEST) return packing;
  return stack(
    rectangles,
    shelves(
      rectangles.map((r) => [r.width, r.height]),
      gap,
    ),
    gap,
  );
}

/** Index of the first rectangle of each shelf. */
function shelves(sizes: readonly (readonly [number, number])[], gap: number): number[] {
  let [area, widest] = [0, 0];
  for (const [width, height] of sizes) {
    area += (width + gap) * (height + gap);
    widest = Math.max(widest, width);
  }
  const limit = Math.max(Math.sqrt(area * PROPORTION), widest);
  const starts = [0];
  let x = 0;
  sizes.forEach(([width], i) => {
    if (x > 0 && x + width > limit) {
      starts.push(i);
      x = 0;
    }
    x += width + gap;
  });
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
