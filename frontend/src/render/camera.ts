/** The visible part of the graph: graph coordinates `x`, `y` are in the middle of a view of `width` × `height` screen pixels. */
export interface Camera {
  readonly x: number;
  readonly y: number;
  readonly zoom: number;
}

export interface View {
  readonly width: number;
  readonly height: number;
}

export interface Rect {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const MOST_ZOOM = 4;
/** At this zoom a whole graph is one pixel. */
const LEAST_ZOOM = 1e-5;
/** Fitting does not enlarge a small graph beyond this. */
const MOST_FIT = 1.25;

export const toScreenX = (camera: Camera, view: View, graphX: number): number => (graphX - camera.x) * camera.zoom + view.width / 2;
export const toScreenY = (camera: Camera, view: View, graphY: number): number => (graphY - camera.y) * camera.zoom + view.height / 2;
export const toGraphX = (camera: Camera, view: View, screenX: number): number => (screenX - view.width / 2) / camera.zoom + camera.x;
export const toGraphY = (camera: Camera, view: View, screenY: number): number => (screenY - view.height / 2) / camera.zoom + camera.y;

/** Zooms by a factor around a fixed screen point. */
export function zoomAt(camera: Camera, view: View, screenX: number, screenY: number, factor: number): Camera {
  const zoom = Math.min(MOST_ZOOM, Math.max(LEAST_ZOOM, camera.zoom * factor));
  const x = toGraphX(camera, view, screenX) - (screenX - view.width / 2) / zoom;
  const y = toGraphY(camera, view, screenY) - (screenY - view.height / 2) / zoom;
  return { x, y, zoom };
}

/**
 * Zooms around a box whose centre is visible, so that it stays visible; around the centre of the view if there is none, or it is larger
 * than the view.
 */
export function zoomAround(camera: Camera, view: View, box: Rect | null, factor: number): Camera {
  const { width, height } = view;
  const fits = box && box.width * camera.zoom <= width && box.height * camera.zoom <= height;
  const [x, y] = fits ? middleOf(camera, view, box) : [-1, -1];
  if (!fits || x < 0 || y < 0 || x > width || y > height) return zoomAt(camera, view, width / 2, height / 2, factor);
  const to = zoomAt(camera, view, x, y, factor);
  const [halfWidth, halfHeight] = [(box.width * to.zoom) / 2, (box.height * to.zoom) / 2];
  const dx = outside(x - halfWidth, x + halfWidth, MARGIN, width - MARGIN);
  const dy = outside(y - halfHeight, y + halfHeight, MARGIN_TOP, height - MARGIN);
  return panBy(to, -dx, -dy);
}

const middleOf = (camera: Camera, view: View, { x, y, width, height }: Rect): [number, number] => [
  toScreenX(camera, view, x + width / 2),
  toScreenY(camera, view, y + height / 2),
];

/** How far a range exceeds another one; 0 if it would not fit. */
function outside(low: number, high: number, from: number, to: number): number {
  if (high - low > to - from) return 0;
  return low < from ? low - from : Math.max(0, high - to);
}

export function panBy(camera: Camera, screenDx: number, screenDy: number): Camera {
  return { ...camera, x: camera.x - screenDx / camera.zoom, y: camera.y - screenDy / camera.zoom };
}

/** Margins in screen pixels; the upper one leaves room for the search box and the toolbar. */
const MARGIN = 28;
const MARGIN_TOP = 58;

/** Shows a whole rectangle. */
export function fitRect(rect: Rect, view: View, margin = MARGIN, marginTop = MARGIN_TOP): Camera {
  const width = Math.max(20, view.width - 2 * margin);
  const height = Math.max(20, view.height - margin - marginTop);
  const zoom = Math.min(width / Math.max(1, rect.width), height / Math.max(1, rect.height), MOST_FIT);
  return { x: rect.x + rect.width / 2, y: rect.y + rect.height / 2 - (marginTop - margin) / 2 / zoom, zoom };
}

/** Centres a box at a readable zoom; a large one is shown whole. */
export function centreOn(rect: Rect, view: View, camera: Camera): Camera {
  const readable = Math.min(1, Math.max(camera.zoom, 0.85));
  return { x: rect.x + rect.width / 2, y: rect.y + rect.height / 2, zoom: Math.min(readable, fitRect(rect, view, 60, 60).zoom) };
}

/** Interpolates two cameras at `t` from 0 to 1, the zoom geometrically. */
export function between(from: Camera, to: Camera, t: number): Camera {
  const zoom = from.zoom * (to.zoom / from.zoom) ** t;
  const ratio = to.zoom / from.zoom;
  // With a changing zoom, motion is even on the screen if the fixed point of the movement is interpolated, not x.
  const s = Math.abs(ratio - 1) < 1e-3 ? t : (1 - ratio ** -t) / (1 - 1 / ratio);
  return { x: from.x + (to.x - from.x) * s, y: from.y + (to.y - from.y) * s, zoom };
}

export const easeOut = (t: number): number => 1 - (1 - t) ** 3;

/** The bounding rectangle of some; null for none. */
export function enclosing(rects: readonly Rect[]): Rect | null {
  if (rects.length === 0) return null;
  let [left, top, right, bottom] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { x, y, width, height } of rects) {
    [left, top] = [Math.min(left, x), Math.min(top, y)];
    [right, bottom] = [Math.max(right, x + width), Math.max(bottom, y + height)];
  }
  return { x: left, y: top, width: right - left, height: bottom - top };
}
