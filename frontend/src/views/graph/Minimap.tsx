import type { Ref } from 'preact';
import { useRef } from 'preact/hooks';
import { toGraphX, toGraphY } from '../../render/camera';
import { MINIMAP, minimapCamera } from '../../render/minimap';
import type { GraphView } from './graph_view';

/** The whole graph in the lower right corner; pressing or dragging there moves the view. */
export function Minimap({ model, canvas }: { model: GraphView; canvas: Ref<HTMLCanvasElement> }) {
  const dragging = useRef(false);
  const go = (event: PointerEvent) => {
    const { drawing } = model;
    if (!drawing) return;
    const { placed, tree } = drawing;
    const camera = minimapCamera(placed.width[tree.nodeCount]!, placed.height[tree.nodeCount]!);
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    model.viewport.jump({ ...model.viewport.camera, x: toGraphX(camera, MINIMAP, x), y: toGraphY(camera, MINIMAP, y) });
  };
  return (
    <canvas
      ref={canvas}
      class="graph-minimap graph-card"
      aria-hidden="true"
      onPointerDown={(event) => {
        dragging.current = true;
        event.currentTarget.setPointerCapture(event.pointerId);
        go(event);
      }}
      onPointerMove={(event) => dragging.current && go(event)}
      onPointerUp={() => {
        dragging.current = false;
      }}
    />
  );
}
