/** Size and content of a picture of the graph. */

import type { PictureSettings } from '../../model/run/view_settings';
import type { Camera, View } from '../camera';

export interface PicturePlan {
  readonly camera: Camera;
  /** The graph's part of the picture, in units of `ratio` pixels. */
  readonly view: View;
  readonly ratio: number;
  /** Pixels; for an SVG its units. */
  readonly width: number;
  readonly height: number;
  /** Pixels at the requested scale, if that exceeds a canvas. */
  readonly tooLarge: View | null;
  /** The possible scale. */
  readonly scale: number;
}

/** Limits of all browsers: pixels per side, and in all (four times a 4K screen). */
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
  /** Height of the footer for a graph of this width. */
  footer(width: number): number;
}

export function planPicture(settings: PictureSettings, subject: PictureSubject): PicturePlan {
  const wanted = settings.format === 'svg' ? 1 : settings.scale;
  const plan = planAt(settings, subject, wanted);
  if (settings.format === 'svg' || fits(plan)) return plan;
  const scale = mostScale(settings, subject, wanted);
  return { ...planAt(settings, subject, scale), tooLarge: { width: plan.width, height: plan.height } };
}

/** Below its natural size, a whole graph shows less detail, as on the screen. */
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

/** The largest possible scale, to a hundredth of the requested one or finer. */
function mostScale(settings: PictureSettings, subject: PictureSubject, wanted: number): number {
  let [low, high] = [0, wanted];
  while (high - low > low / 200) {
    const middle = (low + high) / 2;
    if (fits(planAt(settings, subject, middle))) low = middle;
    else high = middle;
  }
  return low;
}
