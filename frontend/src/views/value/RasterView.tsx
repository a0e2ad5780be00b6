import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { bitmapOf, sizedContext } from '../../lib/canvas';
import { downloadBlob } from '../../lib/download';
import type { Picked, Raster } from '../../model/value/raster';
import { IconButton } from '../kit/Button';
import { useSize } from '../kit/hooks';

interface RasterViewProps {
  raster: Raster;
  label: string;
  /** Text of what is under the pointer. */
  describe: (picked: Picked) => string;
  /** Name of the file that the picture is saved as. */
  saveAs: string;
  /** Index of an element to mark. */
  marked: number[] | null;
}

/** A picture of elements: the wheel zooms, dragging pans, a double click fits, hovering shows exact values. */
export function RasterView({ raster, label, describe, saveAs, marked }: RasterViewProps) {
  const { ref, width, height } = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const bitmap = useMemo(() => bitmapOf(raster), [raster]);
  const mark = useMemo(() => (marked ? raster.place(marked) : null), [raster, marked]);
  const { view, hover, listeners } = usePointing(raster, describe, width, height);

  useLayoutEffect(() => {
    if (canvas.current && width > 0) draw(canvas.current, bitmap, raster, view, width, height, mark);
  }, [bitmap, view, width, height, mark]);

  const left = hover ? Math.min(hover.x + 14, width - 190) : 0;
  return (
    <div class="raster" ref={ref}>
      <canvas ref={canvas} role="img" aria-label={label} {...listeners} />
      <div class="raster-save">
        <IconButton
          small
          icon="download"
          label="Download the picture as PNG"
          onClick={() => savePicture(bitmap, saveAs)}
          testid="download-png"
        />
      </div>
      {marked && (
        <p class="raster-marked num" role="status" data-testid="marked">
          {markedText(raster, marked, mark, describe)}
        </p>
      )}
      {hover && (
        <div class="tooltip num" style={{ left: `${left}px`, top: `${hover.y + 14}px` }}>
          {hover.text}
        </div>
      )}
    </div>
  );
}

/** The marked element as under the pointer, or why it is not drawn. */
export function markedText(
  raster: Pick<Raster, 'pick'>,
  marked: readonly number[],
  mark: readonly [number, number] | null,
  describe: (picked: Picked) => string,
): string {
  const found = mark && raster.pick(...mark);
  const isDrawn = found?.index.every((place, dim) => place === ':' || place === marked[dim]);
  return found && isDrawn ? describe(found) : `[${marked.join(', ')}] is not drawn here. Table shows it.`;
}

interface Hover {
  x: number;
  y: number;
  text: string;
}

/** Position of the picture in a frame of `width` x `height`, the element at the pointer, and the handlers that move both. */
function usePointing(raster: Raster, describe: RasterViewProps['describe'], width: number, height: number) {
  const [moved, setMoved] = useState<ImageViewport | null>(null);
  const [hover, setHover] = useState<Hover | null>(null);
  const fit = useMemo(() => fitPicture(raster.width, raster.height, width, height), [raster.width, raster.height, width, height]);
  useEffect(() => setMoved(null), [fit]);
  const view = moved ?? fit;
  const listeners = {
    onPointerMove: (event: PointerEvent) => {
      const { x, y } = place(event);
      if (event.buttons === 1) {
        setMoved({ ...view, x: view.x + event.movementX, y: view.y + event.movementY });
        setHover(null);
        return;
      }
      const [px, py] = [Math.floor((x - view.x) / view.scaleX), Math.floor((y - view.y) / view.scaleY)];
      const inside = px >= 0 && py >= 0 && px < raster.width && py < raster.height;
      const found = inside ? raster.pick(px, py) : null;
      setHover(found && { x, y, text: describe(found) });
    },
    onPointerDown: (event: PointerEvent) => (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId),
    onPointerLeave: () => setHover(null),
    onWheel: (event: WheelEvent) => {
      event.preventDefault();
      const { x, y } = place(event);
      setMoved(zoomAt(view, x, y, Math.exp(-event.deltaY * 0.0015)));
    },
    onDblClick: () => setMoved(null),
  };
  return { view, hover, listeners };
}

/** From the canvas' top left corner. */
function place(event: MouseEvent): { x: number; y: number } {
  const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

/** Elements of small pictures become squares of several pixels. */
const SAVED_SIDE = 1024;

function savePicture(bitmap: HTMLCanvasElement, name: string): void {
  const scale = Math.max(1, Math.floor(SAVED_SIDE / Math.max(bitmap.width, bitmap.height)));
  const canvas = document.createElement('canvas');
  canvas.width = bitmap.width * scale;
  canvas.height = bitmap.height * scale;
  const context = canvas.getContext('2d');
  if (!context) return;
  context.imageSmoothingEnabled = false;
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => blob && downloadBlob(`${name}.png`, blob));
}

function draw(
  canvas: HTMLCanvasElement,
  bitmap: HTMLCanvasElement,
  raster: Raster,
  view: ImageViewport,
  width: number,
  height: number,
  mark: [number, number] | null,
): void {
  const context = sizedContext(canvas, width, height);
  if (!context) return;
  context.imageSmoothingEnabled = view.scaleX < 1;
  context.drawImage(bitmap, view.x, view.y, raster.width * view.scaleX, raster.height * view.scaleY);
  drawTileLabels(context, raster, view);
  if (!mark) return;
  const size = Math.max(8, view.scaleX);
  const [x, y] = [view.x + (mark[0] + 0.5) * view.scaleX, view.y + (mark[1] + 0.5) * view.scaleY];
  context.strokeStyle = getComputedStyle(canvas).color;
  context.lineWidth = 2;
  context.strokeRect(x - size / 2 - 2, y - size / 2 - 2, size + 4, size + 4);
}

/** Smaller tiles, in page pixels, have no room for their index. */
const LABELLED = { width: 22, height: 18 };

/** Each tile's index in its corner, readable on any colour. */
function drawTileLabels(context: CanvasRenderingContext2D, { tiles }: Raster, view: ImageViewport): void {
  if (!tiles || tiles.labels.length < 2) return;
  if (tiles.size[0] * view.scaleX < LABELLED.width || tiles.size[1] * view.scaleY < LABELLED.height) return;
  context.font = '600 10px system-ui, sans-serif';
  context.textBaseline = 'top';
  context.lineWidth = 2.5;
  context.lineJoin = 'round';
  context.strokeStyle = 'rgb(0 0 0 / 75%)';
  context.fillStyle = '#ffffff';
  for (const { x, y, text } of tiles.labels) {
    const [left, top] = [view.x + x * view.scaleX + 3, view.y + y * view.scaleY + 3];
    context.strokeText(text, left, top);
    context.fillText(text, left, top);
  }
}

/** Position of a picture in its frame: picture pixel (px, py) is drawn at (x + px * scaleX, y + py * scaleY). */
interface ImageViewport {
  x: number;
  y: number;
  scaleX: number;
  scaleY: number;
}

/** Thinner pictures are stretched, otherwise one side would vanish. */
const MOST_ASPECT = 6;

/** The whole picture, centred, with square pixels unless it is very long and thin. */
export function fitPicture(width: number, height: number, frameWidth: number, frameHeight: number, margin = 12): ImageViewport {
  const [roomX, roomY] = [Math.max(1, frameWidth - 2 * margin), Math.max(1, frameHeight - 2 * margin)];
  let [scaleX, scaleY] = [roomX / width, roomY / height];
  const aspect = width / height;
  if (aspect <= MOST_ASPECT && aspect >= 1 / MOST_ASPECT) scaleX = scaleY = Math.min(scaleX, scaleY, 48);
  else [scaleX, scaleY] = [Math.min(scaleX, 48), Math.min(scaleY, 48)];
  return { x: (frameWidth - width * scaleX) / 2, y: (frameHeight - height * scaleY) / 2, scaleX, scaleY };
}

/** Zooms by `factor` around the point (x, y) of the frame. */
export function zoomAt(view: ImageViewport, x: number, y: number, factor: number): ImageViewport {
  const limited = Math.max(0.02 / Math.min(view.scaleX, view.scaleY), Math.min(160 / Math.max(view.scaleX, view.scaleY), factor));
  return {
    x: x - (x - view.x) * limited,
    y: y - (y - view.y) * limited,
    scaleX: view.scaleX * limited,
    scaleY: view.scaleY * limited,
  };
}
