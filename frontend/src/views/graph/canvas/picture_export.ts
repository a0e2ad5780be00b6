/** Pictures of the graph as files: the same renderer on a canvas of any size, or on an SVG document. */

import type { PictureSettings } from '../../../model/run/view_settings';
import { drawHighlights, type Highlights } from '../../../render/draw/draw_highlights';
import type { Drawing, DrawingContext, Frame } from '../../../render/frame';
import { Motion } from '../../../render/motion';
import { paintingOf } from '../../../render/painter';
import { Footer } from '../../../render/picture/picture_footer';
import { type PicturePlan, planPicture } from '../../../render/picture/picture_size';
import { type FontMeasure, SvgContext } from '../../../render/picture/svg_context';
import { Scene } from '../../../render/scene';
import { TextFitter } from '../../../render/text';
import { FONT } from '../../../render/theme';
import type { GraphView } from './graph_view';
import { areEmpty, highlightsOf, visibleBookmarks } from './shown_entities';

/** Longer work without a pause makes the page unresponsive. */
const BUSY_MS = 12;
const BOXES_A_PIECE = 1000;
/** Distance of sticky titles from the upper edge of the view. */
const TITLES_FROM = 8;

/** Hover effects are not part of a picture. */
const NO_POINTER = { hovered: -1, hoveredEdge: -1 };

/** Called between slices: reports progress, and throws to cancel. */
type Pause = (share: number) => void;

/** A planned picture; `file` creates it. */
export class Picture {
  readonly plan: PicturePlan;
  private readonly footer: Footer;
  private readonly fitter: TextFitter;

  /** `caption`: text below the picture, and its title. */
  constructor(
    private readonly model: GraphView,
    private readonly drawing: Drawing,
    private readonly settings: PictureSettings,
    private readonly caption: string,
  ) {
    this.fitter = new TextFitter(measuring());
    const { placed, tree } = drawing;
    const { camera, view } = model.viewport;
    const whole = { width: placed.width[tree.nodeCount]!, height: placed.height[tree.nodeCount]! };
    this.plan = planPicture(settings, { camera, view, whole, footer: (width) => this.footerOf(width).height });
    this.footer = this.footerOf(this.plan.view.width);
  }

  /**
   * Creates the file of this view; `progress` receives the finished share. Throws the signal's reason once it is aborted, and a
   * user-readable Error if the graph is laid out again meanwhile.
   */
  async file(progress: (share: number) => void, abort: AbortSignal): Promise<Blob> {
    const { layouts } = this.model;
    const begun = layouts.peek();
    const pause = (share: number): void => {
      abort.throwIfAborted();
      if (layouts.peek() !== begun) throw new Error('Scopes changed during the export. Try again.');
      progress(share);
    };
    const highlights = { ...highlightsOf(this.model), ...NO_POINTER };
    return this.settings.format === 'svg' ? this.svg(highlights, pause) : this.png(highlights, pause);
  }

  private async svg(highlights: Highlights, pause: Pause): Promise<Blob> {
    const { view, camera } = this.plan;
    const context = new SvgContext(fontsOf(measuring()));
    const frame = this.frame(context);
    await runInSlices(paintingOf(frame, BOXES_A_PIECE), pause);
    context.flush();
    if (!areEmpty(highlights)) drawHighlights(frame, camera, highlights);
    context.flush();
    this.footer.draw(context, view.height);
    const size = { width: view.width, height: view.height + this.footer.height };
    return new Blob(context.finish({ ...size, family: FONT, title: this.caption }), { type: 'image/svg+xml' });
  }

  private async png(highlights: Highlights, pause: Pause): Promise<Blob> {
    const { width, height, view, camera, ratio } = this.plan;
    const { canvas, context } = canvasOf(width, height);
    context.scale(ratio, ratio);
    const frame = this.frame(context);
    await runInSlices(paintingOf(frame, BOXES_A_PIECE), pause);
    if (!areEmpty(highlights)) {
      // On a separate canvas, because it clears empty areas.
      const above = canvasOf(width, height);
      above.context.scale(ratio, ratio);
      drawHighlights({ ...frame, context: above.context }, camera, highlights);
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.drawImage(above.canvas, 0, 0);
      context.scale(ratio, ratio);
    }
    this.footer.draw(context, view.height);
    const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, 'image/png'));
    pause(1);
    if (!blob) throw new Error(`This browser cannot export ${width} × ${height} pixels. Use a smaller size or SVG.`);
    return blob;
  }

  private frame(context: DrawingContext): Frame {
    const { drawing, fitter, model } = this;
    const { camera, view } = this.plan;
    const [scene, motion] = [new Scene(), new Motion()];
    scene.collect(drawing.placed, motion, camera, view);
    return {
      context,
      drawing,
      scene,
      motion,
      colouring: model.colouring.value!,
      theme: model.themeColours,
      fitter,
      showControl: model.showControl.value,
      bookmarks: visibleBookmarks(model),
      covered: TITLES_FROM,
      trends: model.lines.shown,
    };
  }

  private footerOf(width: number): Footer {
    const { settings, caption, model, fitter } = this;
    const legend = settings.legend ? (model.colouring.value?.legend ?? null) : null;
    return new Footer(fitter, model.themeColours, { caption: settings.caption ? caption : '', legend }, width);
  }
}

async function runInSlices(pieces: readonly (() => void)[], pause: Pause): Promise<void> {
  let begun = performance.now();
  for (const [i, piece] of pieces.entries()) {
    piece();
    if (performance.now() - begun < BUSY_MS) continue;
    await new Promise((resume) => setTimeout(resume));
    pause((i + 1) / pieces.length);
    begun = performance.now();
  }
}

export function canvasOf(width: number, height: number): { canvas: HTMLCanvasElement; context: CanvasRenderingContext2D } {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext('2d');
  if (!context) throw new Error(`This browser cannot export ${width} × ${height} pixels. Use a smaller size or SVG.`);
  return { canvas, context };
}

export const measuring = (): CanvasRenderingContext2D => canvasOf(1, 1).context;

export function fontsOf(context: CanvasRenderingContext2D): FontMeasure {
  const drops = new Map<string, number>();
  const ascent = (font: string, baseline: CanvasTextBaseline): number => {
    context.font = font;
    context.textBaseline = baseline;
    return context.measureText('x').actualBoundingBoxAscent;
  };
  return {
    width: (text, font) => {
      context.font = font;
      return context.measureText(text).width;
    },
    drop: (font) => {
      const known = drops.get(font) ?? ascent(font, 'alphabetic') - ascent(font, 'middle');
      drops.set(font, known);
      return known;
    },
  };
}
