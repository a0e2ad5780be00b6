import { useLayoutEffect, useRef } from 'preact/hooks';
import { type ColormapName, colormap } from '../../lib/colours';

/** A colour scale as a strip, lowest colour on the left. */
export function ColourScale({ name }: { name: ColormapName }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!context) return;
    const table = colormap(name);
    const image = context.createImageData(256, 1);
    for (let i = 0; i < 256; i++) {
      image.data.set(table.subarray(3 * i, 3 * i + 3), 4 * i);
      image.data[4 * i + 3] = 255;
    }
    context.putImageData(image, 0, 0);
  }, [name]);
  return <canvas class="scale" width={256} height={1} ref={canvas} aria-hidden="true" />;
}
