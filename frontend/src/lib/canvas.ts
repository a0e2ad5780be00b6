/** Makes a canvas so large, in CSS pixels, and clears it; null where it cannot be drawn on. */
export function sizedContext(canvas: HTMLCanvasElement | null, width: number, height: number): CanvasRenderingContext2D | null {
  const context = canvas?.getContext('2d');
  if (!canvas || !context || width === 0) return null;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  context.scale(ratio, ratio);
  return context;
}

/** Pixels as a canvas that can be drawn at any size. */
export function bitmapOf({
  rgba,
  width,
  height,
}: {
  rgba: Uint8ClampedArray<ArrayBuffer>;
  width: number;
  height: number;
}): HTMLCanvasElement {
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = height;
  canvas.getContext('2d')?.putImageData(new ImageData(rgba, width, height), 0, 0);
  return canvas;
}
