/** How a picture stands in its frame: picture pixel (px, py) is drawn at (x + px * scaleX, y + py * scaleY). */
export interface Viewport {
  x: number;
  y: number;
  scaleX: number;
  scaleY: number;
}

/** Pictures thinner than this are stretched, or one side would vanish. */
const MOST_ASPECT = 6;

/** The whole picture, centred, with square pixels unless it is very long and thin. */
export function fitPicture(width: number, height: number, frameWidth: number, frameHeight: number, margin = 12): Viewport {
  const [roomX, roomY] = [Math.max(1, frameWidth - 2 * margin), Math.max(1, frameHeight - 2 * margin)];
  let [scaleX, scaleY] = [roomX / width, roomY / height];
  const aspect = width / height;
  if (aspect <= MOST_ASPECT && aspect >= 1 / MOST_ASPECT) scaleX = scaleY = Math.min(scaleX, scaleY, 48);
  else [scaleX, scaleY] = [Math.min(scaleX, 48), Math.min(scaleY, 48)];
  return { x: (frameWidth - width * scaleX) / 2, y: (frameHeight - height * scaleY) / 2, scaleX, scaleY };
}

/** Zooms by `factor` so that the point (x, y) of the frame stays where it is. */
export function zoomAt(view: Viewport, x: number, y: number, factor: number): Viewport {
  const limited = Math.max(0.02 / Math.min(view.scaleX, view.scaleY), Math.min(160 / Math.max(view.scaleX, view.scaleY), factor));
  return {
    x: x - (x - view.x) * limited,
    y: y - (y - view.y) * limited,
    scaleX: view.scaleX * limited,
    scaleY: view.scaleY * limited,
  };
}
