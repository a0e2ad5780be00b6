/** What can be wanted of a picture of the graph. */
export interface PictureWish {
  /** What is on show, or the whole graph as it is laid out. */
  readonly what: 'shown' | 'whole';
  readonly format: 'svg' | 'png';
  /** Pixels of a PNG for each pixel of the page. */
  readonly scale: PictureScale;
  readonly legend: boolean;
  readonly caption: boolean;
}

export const PICTURE_SCALES = [1, 2, 4] as const;
export type PictureScale = (typeof PICTURE_SCALES)[number];

export const NATURAL_PICTURE: PictureWish = { what: 'shown', format: 'svg', scale: 2, legend: true, caption: true };

/** The wish that was stored, as far as it is one. */
export function readPictureWish(stored: unknown): PictureWish | null {
  if (typeof stored !== 'object' || stored === null) return null;
  const { what, format, scale, legend, caption } = stored as Record<string, unknown>;
  return {
    what: what === 'whole' ? 'whole' : 'shown',
    format: format === 'png' ? 'png' : 'svg',
    scale: PICTURE_SCALES.find((known) => known === scale) ?? NATURAL_PICTURE.scale,
    legend: legend !== false,
    caption: caption !== false,
  };
}
