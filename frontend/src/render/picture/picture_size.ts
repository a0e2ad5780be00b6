/** How large a picture of the graph becomes, and what of the graph it shows. */

import type { PictureSettings } from '../../model/run/view_settings';
import type { Camera, View } from '../camera';

export interface PicturePlan {
  readonly camera: Camera;
  /** The graph's part of the picture, in units of which `ratio` pixels are drawn for each. */
  readonly view: View;
  readonly ratio: number;
  /** Pixels; of an SVG its units. */
  readonly width: number;
  readonly height: number;
  /** Pixels that the wanted scale would take, where that is more than a canvas has. */
  readonly tooLarge: View | null;
  /** The scale that it has. */
  readonly scale: number;
}

/** All browsers take canvases of this many pixels a side, and of this many in all (four times a 4K screen). */
export const MOST_SIDE = 16_384;
export const MOST_PIXELS = 2 ** 27;

/** Around a whole graph. */
const MARGIN = 24;
/** A legend needs as much. */
const LEAST_WIDTH = 420;

export interface PictureSubject {
  /** The current view. */
  readonly camera: Camera;
  readonly view: View;
  /** Size of the whole graph. */
  readonly whole: View;
  /** Height of what stands below a graph of this width. */
  footer(width: number): number;
}

export function planPicture(settings: PictureSettings, subject: PictureSubject): PicturePlan {
  const wanted = settings.format === 'svg' ? 1 : settings.scale;
  const plan = planAt(settings, subject, wanted);
  if (settings.format === 'svg' || fits(plan)) return plan;
  const scale = mostScale(settings, subject, wanted);
  return { ...planAt(settings, subject, scale), tooLarge: { width: plan.width, height: plan.height } };
}

/** Of a whole graph less than its own size shows less detail, as it does on the screen. */
function planAt({ what }: PictureSettings, { camera, view, whole, footer }: PictureSubject, scale: number): PicturePlan {
  const zoom = Math.min(1, scale);
  const part = what === 'shown' ? { camera, view } : wholeGraph(whole, zoom);
  const ratio = what === 'shown' ? scale : scale / zoom;
  const [width, height] = [part.view.width, part.view.height + footer(part.view.width)];
  return { ...part, ratio, width: Math.round(width * ratio), height: Math.round(height * ratio), tooLarge: null, scale };
}

function wholeGraph(whole: View, zoom: number): { camera: Camera; view: View } {
  const width = Math.max(LEAST_WIDTH, Math.ceil(whole.width * zoom) + 2 * MARGIN);
  const height = Math.ceil(whole.height * zoom) + 2 * MARGIN;
  return { camera: { x: whole.width / 2, y: whole.height / 2, zoom }, view: { width, height } };
}

const fits = ({ width, height }: View): boolean => Math.max(width, height) <= MOST_SIDE && width * height <= MOST_PIXELS;

/** The largest scale that a canvas has, to a hundredth of the wanted one or finer. */
function mostScale(settings: PictureSettings, subject: PictureSubject, wanted: number): number {
  let [low, high] = [0, wanted];
  while (high - low > low / 200) {
    const middle = (low + high) / 2;
    if (fits(planAt(settings, subject, middle))) low = middle;
    else high = middle;
  }
  return low;
}
