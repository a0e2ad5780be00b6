/** The canvases of a graph pane: repaints on request, at most once per frame, at the screen's resolution. */

import { drawHighlights } from '../../../render/draw/draw_highlights';
import type { Frame, MovedTitle } from '../../../render/frame';
import { MINIMAP, minimapCamera, paintMinimap, viewFrame } from '../../../render/minimap';
import { paint } from '../../../render/painter';
import { Scene } from '../../../render/scene';
import { TextFitter } from '../../../render/text';
import type { GraphView } from './graph_view';
import { areEmpty, highlightsOf, visibleBookmarks } from './shown_entities';
import { covered } from './viewport';

interface Canvases {
  readonly graph: HTMLCanvasElement;
  readonly highlights: HTMLCanvasElement;
  readonly minimap: HTMLCanvasElement;
}

export class CanvasPainter {
  private readonly scene = new Scene();
  private readonly contexts: { graph: CanvasRenderingContext2D; highlights: CanvasRenderingContext2D; minimap: CanvasRenderingContext2D };
  private readonly fitter: TextFitter;
  private readonly observer: ResizeObserver;
  /** The graph in the minimap; repainted when the layout or the colours change. */
  private readonly minimapImage = document.createElement('canvas');
  private minimapStale = true;
  private requested = 0;
  private ratio = 1;

  constructor(
    private readonly model: GraphView,
    private readonly canvases: Canvases,
  ) {
    this.contexts = {
      graph: context(canvases.graph, false),
      highlights: context(canvases.highlights, true),
      minimap: context(canvases.minimap, false),
    };
    this.fitter = new TextFitter(this.contexts.graph);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(canvases.graph);
    void document.fonts.ready.then(() => {
      this.fitter.forget();
      this.request();
    });
    this.resize();
  }

  close(): void {
    this.observer.disconnect();
    this.model.lines.close();
    cancelAnimationFrame(this.requested);
  }

  request(): void {
    if (!this.requested) this.requested = requestAnimationFrame((now) => this.frame(now));
  }

  layoutChanged(): void {
    this.minimapStale = true;
    this.request();
  }

  private resize(): void {
    const { graph, highlights, minimap } = this.canvases;
    const { clientWidth: width, clientHeight: height } = graph;
    // While hidden, the last view is kept.
    if (width === 0 || height === 0) return;
    this.ratio = window.devicePixelRatio || 1;
    for (const canvas of [graph, highlights]) {
      canvas.width = Math.round(width * this.ratio);
      canvas.height = Math.round(height * this.ratio);
    }
    for (const canvas of [minimap, this.minimapImage]) {
      canvas.width = Math.round(MINIMAP.width * this.ratio);
      canvas.height = Math.round(MINIMAP.height * this.ratio);
    }
    this.minimapStale = true;
    const first = this.model.viewport.view.width === 0;
    this.model.viewport.resize({ width, height });
    if (first) this.model.fit(false);
    // A resized canvas is blank: waiting for the next frame would flicker.
    if (this.model.drawing) this.frame(performance.now());
  }

  private frame(now: number): void {
    cancelAnimationFrame(this.requested);
    this.requested = 0;
    // The window may have moved to another screen.
    if (this.ratio !== (window.devicePixelRatio || 1)) {
      this.resize();
      return;
    }
    const more = this.model.advance(now);
    const frame = this.prepare();
    if (!frame) this.blank();
    else this.paintAll(frame);
    if (more) this.request();
  }

  private prepare(): Frame | null {
    const { drawing, motion, viewport } = this.model;
    const colouring = this.model.colouring.value;
    if (!drawing || !colouring || viewport.view.width === 0) return null;
    this.scene.collect(drawing.placed, motion, viewport.camera, viewport.view);
    const { graph } = this.contexts;
    const moved: MovedTitle[] = [];
    this.model.moved = moved;
    return {
      context: graph,
      drawing,
      scene: this.scene,
      motion,
      colouring,
      theme: this.model.themeColours,
      fitter: this.fitter,
      showControl: this.model.showControl.value,
      bookmarks: visibleBookmarks(this.model),
      covered: covered(viewport.view),
      moved,
      trends: this.model.lines.shown,
    };
  }

  private paintAll(frame: Frame): void {
    const { graph } = this.contexts;
    graph.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    paint(frame);
    this.model.lines.watch(frame);
    this.paintHighlights(frame);
    this.paintMinimap(frame);
  }

  private paintHighlights(frame: Frame): void {
    const { model } = this;
    const highlights = highlightsOf(model);
    // A hidden canvas costs nothing; an empty one is cleared and composed with each frame.
    this.canvases.highlights.hidden = areEmpty(highlights);
    if (areEmpty(highlights)) return;
    const { highlights: context } = this.contexts;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    drawHighlights({ ...frame, context }, model.viewport.camera, highlights);
  }

  private paintMinimap(frame: Frame): void {
    const { placed, tree } = frame.drawing;
    const camera = minimapCamera(placed.width[tree.nodeCount]!, placed.height[tree.nodeCount]!);
    const { minimap } = this.contexts;
    if (this.minimapStale) {
      const image = context(this.minimapImage, false);
      image.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      paintMinimap({ ...frame, context: image }, camera);
      this.minimapStale = false;
    }
    minimap.setTransform(1, 0, 0, 1, 0, 0);
    minimap.drawImage(this.minimapImage, 0, 0);
    minimap.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    const { x, y, width, height } = viewFrame(camera, this.model.viewport.camera, this.model.viewport.view);
    // Everything is visible: a frame around it would be meaningless.
    if (x <= 0 && y <= 0 && x + width >= MINIMAP.width && y + height >= MINIMAP.height) return;
    minimap.fillStyle = `${frame.theme.selection}1c`;
    minimap.fillRect(x, y, width, height);
    minimap.strokeStyle = frame.theme.selection;
    minimap.lineWidth = 1.25;
    minimap.strokeRect(x, y, width, height);
  }

  private blank(): void {
    const { graph, highlights } = this.canvases;
    this.contexts.graph.setTransform(1, 0, 0, 1, 0, 0);
    this.contexts.graph.fillStyle = this.model.themeColours.background;
    this.contexts.graph.fillRect(0, 0, graph.width, graph.height);
    this.contexts.highlights.setTransform(1, 0, 0, 1, 0, 0);
    this.contexts.highlights.clearRect(0, 0, highlights.width, highlights.height);
  }
}

function context(canvas: HTMLCanvasElement, alpha: boolean): CanvasRenderingContext2D {
  const found = canvas.getContext('2d', { alpha });
  if (!found) throw new Error('this browser has no 2D canvas; the graph cannot be drawn');
  return found;
}
