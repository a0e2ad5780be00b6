/** The graph pane without HTML: what is loaded, expanded, selected and hovered, and when to paint what. */

import { signal } from '@preact/signals';
import { type LayoutClient, layoutOf } from '../../../layout/client';
import type { LayoutReply, LayoutUpdate, LoadedReply } from '../../../layout/messages';
import { PlacedGraph } from '../../../layout/placed';
import { type Marks, markNodes, type Neighbour, shownNeighbours } from '../../../model/graph/neighbours';
import { INF, NAN } from '../../../model/graph/node_values';
import { smallNodes } from '../../../model/graph/op_kinds';
import { hasBlocks } from '../../../model/graph/repeated_blocks';
import { sameTrace, type Trace } from '../../../model/graph/trace';
import { enclosingScopes, openScopes, scopePath, shownEntity } from '../../../model/graph/tree';
import { NO_FACTS, type SearchFacts } from '../../../model/search/search';
import type { ColourBy, GraphData } from '../../../model/wire/graph';
import type { StepStatistics } from '../../../model/wire/step_statistics';
import { easeOut, enclosing, type Rect, toScreenX, toScreenY } from '../../../render/camera';
import { type Colouring, makeColouring } from '../../../render/colouring';
import { describe } from '../../../render/draw/draw_highlights';
import type { Drawing, MovedTitle } from '../../../render/frame';
import { type Anchor, anchorAt, heldCamera, MOTION_MS, Motion } from '../../../render/motion';
import { type ThemeName, themeOf } from '../../../render/theme';
import { runFacts } from '../../../state/problems/problems';
import { entityNamed, sameEntity, selectedName } from './entity_names';
import { Finder } from './finder';
import type { GraphEvents, Hover, Menu, Status } from './graph_events';
import { Tracer } from './tracer';
import { TrendLines } from './trend_lines';
import { prefersStillness, Viewport } from './viewport';

/** Larger changes are not animated: the eye could not follow. */
const MOST_MOVING = 300;
const MOST_REPORTED = 200;
/** Boxes within this distance below the topmost one also count as being at the top. */
const SAME_ROW = 40;

/** The canvases that a graph view is painted on. */
interface Painter {
  /** Paints at the next frame. */
  request(): void;
  /** Boxes or colours changed: the minimap is repainted, too. */
  layoutChanged(): void;
  close(): void;
}

export class GraphView {
  readonly status = signal<Status>({ kind: 'empty' });
  readonly progress = signal<{ done: number; total: number } | null>(null);
  readonly hover = signal<Hover | null>(null);
  readonly colouring = signal<Colouring | null>(null);
  readonly announcement = signal('');
  readonly showControl = signal(true);
  /** How many layouts were shown so far, for tests and benchmarks. */
  readonly layouts = signal(0);
  /** Whether any scope is expanded. */
  readonly anyOpen = signal(false);
  readonly finder = new Finder();
  readonly tracer = new Tracer();
  readonly lines = new TrendLines((graph, rows) => this.events.trends(graph, rows));
  /** Whether the graph has repeated blocks, and the start of a path without an end yet. */
  readonly hasBlocks = signal(false);
  readonly pathStart = signal<string | null>(null);
  readonly menu = signal<Menu | null>(null);
  readonly viewport = new Viewport(
    () => this.screen?.request(),
    () => this.drawing && this.rect(this.drawing.tree.nodeCount),
  );
  readonly motion = new Motion();
  drawing: Drawing | null = null;
  selected = -1;
  neighbours: readonly Neighbour[] = [];
  /** Nodes to mark, in order, and their marks. */
  chain: readonly number[] = [];
  marks: Marks | null = null;
  overlay: StepStatistics | null = null;
  ungrouped: readonly string[] = [];
  /** Names of bookmarked entities. */
  bookmarks: readonly string[] = [];

  private screen: Painter | null = null;
  private client: LayoutClient | null = null;
  private colour: ColourBy = { kind: 'health' };
  private theme: ThemeName = 'light';
  private wanted: string | null = null;
  private reported: string | null = null;
  /** Titles drawn outside their title bars in the last frame. */
  moved: readonly MovedTitle[] = [];
  private anchor: Anchor | null = null;
  private motionStart = 0;
  private afterUpdate: (() => void)[] = [];
  private graph: GraphData | null = null;
  private trace: Trace | null = null;
  /** Restores the view after the graph was reloaded. */
  private backTo: (() => void) | null = null;
  private openPaths: readonly string[] = [];
  /** Requests that the worker has not answered. */
  private pending = 0;
  /** Number of started loads, and of the displayed one: in between, the worker has other numbers. */
  private loads = 0;
  private shownLoad = 0;

  constructor(readonly events: GraphEvents) {}

  /** Takes the canvases once they are on the page. */
  attach(screen: Painter): () => void {
    this.screen = screen;
    screen.request();
    return () => {
      screen.close();
      this.screen = null;
    };
  }

  close(): void {
    this.client?.close();
    this.client = null;
  }

  /** Whether something is being laid out, or moves. */
  get busy(): boolean {
    return this.pending > 0 || this.motion.active || this.viewport.flying;
  }

  get themeColours() {
    return themeOf(this.theme);
  }

  /** Shows a graph; a later version of the current one replaces it without other changes. */
  setGraph(graph: GraphData | null, open: readonly string[] | null): void {
    const again = graph !== null && this.drawing !== null && graph.id === this.graph?.id && graph.name === this.graph.name;
    this.close();
    this.graph = graph;
    this.progress.value = null;
    this.anchor = null;
    this.afterUpdate = [];
    this.pending = 0;
    this.motion.finish();
    if (!again) this.forget(graph);
    this.screen?.request();
    if (!graph) return;
    const load = ++this.loads;
    this.client = layoutOf({ graph, open: again ? this.openPaths : open, ungrouped: this.ungrouped }, (reply) => {
      if (load === this.loads) this.receive(graph, reply);
    });
  }

  private forget(graph: GraphData | null): void {
    this.drawing = null;
    this.colouring.value = null;
    this.hover.value = null;
    this.menu.value = null;
    this.finder.clear();
    this.setSelected(-1);
    this.status.value = { kind: graph ? 'loading' : 'empty' };
  }

  setColours(overlay: StepStatistics | null, colour: ColourBy, theme: ThemeName): void {
    const another = overlay !== this.overlay;
    [this.overlay, this.colour, this.theme] = [overlay, colour, theme];
    this.recolour();
    if (another) this.searchAgain(/is:/i);
  }

  /** Changes which repeated blocks are ungrouped: the graph is laid out again around the selection, everything else stays. */
  setUngrouped(ungrouped: readonly string[]): void {
    if (ungrouped.join() === this.ungrouped.join()) return;
    this.ungrouped = ungrouped;
    this.reopen(this.openPaths);
  }

  /** Expands exactly these scopes, named as in `expandedScopes` of the pane. */
  reopen(scopes: readonly string[]): void {
    this.openPaths = scopes;
    if (!this.graph) return;
    this.backTo = this.drawing && this.holdPlace();
    this.setGraph(this.graph, scopes);
  }

  setTrace(trace: Trace | null, pathStart: string | null): void {
    this.pathStart.value = pathStart;
    if (!sameTrace(trace, this.trace)) {
      this.trace = trace;
      this.tracer.follow(trace, this.drawing);
    }
    this.screen?.request();
  }

  /** Marks rows of nodes, and how one leads to the next. */
  setChain(rows: readonly number[]): void {
    this.chain = rows;
    this.marks = this.drawing && rows.length > 0 ? markNodes(this.drawing.tree, rows) : null;
    this.screen?.request();
  }

  /** Selection from outside, by name (see entity_names.ts): shows it unless it was selected here. */
  select(name: string | null): void {
    this.wanted = name;
    if (!this.drawing || name === this.reported) return;
    this.reported = name;
    const entity = entityNamed(this.drawing, name);
    if (entity < 0) this.setSelected(-1);
    else this.reveal(entity);
  }

  /** Selection by the user. */
  pick(entity: number): void {
    this.setSelected(entity);
    const { drawing } = this;
    if (!drawing) return;
    this.reported = selectedName(drawing, entity);
    this.events.select(this.reported);
  }

  setHover(hover: Hover | null): void {
    const [before, now] = [this.hover.value?.entity ?? -1, hover?.entity ?? -1];
    this.hover.value = hover;
    if (now === before) return;
    this.screen?.request();
    const node = now >= 0 && this.drawing !== null && now < this.drawing.tree.nodeCount;
    this.events.hover(node ? this.drawing!.graph.names.at(now) : null);
  }

  toggle(scope: number): void {
    if (!this.drawing || scope <= 0) return;
    const [entity, opens] = [this.drawing.tree.nodeCount + scope, !this.drawing.placed.open[scope]];
    // With a sticky title, the anchor is out of view, and so would be the collapsed scope.
    const away = !opens && this.moved.some((title) => title.entity === entity);
    if (this.setOpen([scope], opens, entity) && away) this.afterUpdate.push(() => this.centre(entity, false));
  }

  /** Expands the scopes around the first of them. */
  openScopes(scopes: readonly number[]): void {
    if (this.drawing) this.setOpen(scopes, true, this.drawing.tree.nodeCount + scopes[0]!);
  }

  setAllOpen(open: boolean): void {
    if (!this.drawing || this.shownLoad !== this.loads) return;
    this.events.leave();
    this.pending++;
    this.progress.value = { done: 0, total: 1 };
    this.afterUpdate.push(() => this.fit(false));
    this.client?.setOpen('all', open);
  }

  cancel(): void {
    this.client?.cancel();
  }

  fit(smoothly = true): void {
    if (this.drawing) this.viewport.fit(this.rect(this.drawing.tree.nodeCount)!, smoothly);
  }

  /** Expands the scopes around an entity, selects it and brings it into view. */
  reveal(entity: number, pick = false): void {
    const { drawing } = this;
    if (!drawing) return;
    const closed = enclosingScopes(drawing.tree, entity).filter((scope) => !drawing.placed.open[scope]);
    const choose = (): void => (pick ? this.pick(entity) : this.setSelected(entity));
    const show = (): void => {
      choose();
      this.centre(entity, false);
    };
    if (closed.length === 0) show();
    else if (this.setOpen(closed, true, drawing.tree.nodeCount + closed[closed.length - 1]!)) this.afterUpdate.push(show);
    else choose(); // its name finds it in the graph that is loading
  }

  /** Expands the scopes around some rows, and brings all of them into view. */
  revealAll(rows: readonly number[]): void {
    const { drawing } = this;
    if (!drawing || rows.length === 0) return;
    const entities = rows.map((row) => drawing.tree.entityOf[row]!);
    const closed = [...new Set(entities.flatMap((entity) => enclosingScopes(drawing.tree, entity)))].filter(
      (scope) => !drawing.placed.open[scope],
    );
    const show = (): void => {
      this.setHover(null);
      const around = enclosing(entities.flatMap((entity) => this.rect(this.shown(entity)) ?? []));
      if (around && !this.viewport.bring(around, 0)) this.viewport.fit(around, true);
    };
    if (closed.length > 0 && this.setOpen(closed, true, drawing.tree.nodeCount + closed[0]!)) this.afterUpdate.push(show);
    else show();
  }

  /** Brings an entity into view; does not move the camera if it is already visible. */
  centre(entity: number, always: boolean): void {
    this.setHover(null);
    const rect = this.rect(entity);
    if (rect && (always || !this.viewport.shows(rect))) this.viewport.centreOn(rect);
  }

  setShowControl(show: boolean): void {
    this.showControl.value = show;
    this.screen?.request();
  }

  /** The entity itself, or the collapsed scope that hides it; -1 for none. */
  shown(entity: number): number {
    return this.drawing && entity >= 0 ? shownEntity(this.drawing.tree, this.drawing.placed.open, entity) : -1;
  }

  /** Shows everything or, if that would be unreadable, a scope, or its beginning: the leftmost box at its top. */
  private look(scope: number): void {
    const root = this.drawing!.tree.nodeCount;
    const inside = this.boxesIn(scope);
    const top = inside.reduce((least, { y }) => Math.min(least, y), Number.POSITIVE_INFINITY);
    const row = inside.filter(({ y }) => y < top + SAME_ROW);
    const first = row.reduce<Rect | null>((best, rect) => (best && best.x <= rect.x ? best : rect), null);
    this.viewport.look(this.rect(root)!, this.rect(root + scope)!, first, this.boxesIn(0));
  }

  private boxesIn(scope: number): Rect[] {
    const { tree } = this.drawing!;
    const inside = [...tree.children.subarray(tree.childStart[scope], tree.childStart[scope + 1])];
    return inside.flatMap((entity) => this.rect(entity) ?? []).filter(({ width }) => width > 0);
  }

  /** Position of an entity in the frame of the whole graph. */
  rect(entity: number): Rect | null {
    const placed = this.drawing?.placed;
    return placed ? { ...placed.origin(entity), width: placed.width[entity]!, height: placed.height[entity]! } : null;
  }

  /** Where an entity is in the pane, in pixels. */
  onScreen(entity: number): Rect | null {
    const rect = this.rect(entity);
    const { camera, view } = this.viewport;
    if (!rect) return null;
    const [width, height] = [rect.width * camera.zoom, rect.height * camera.zoom];
    return { x: toScreenX(camera, view, rect.x), y: toScreenY(camera, view, rect.y), width, height };
  }

  /** The visible neighbours of an entity. */
  neighboursOf(entity: number): readonly Neighbour[] {
    const { tree, graph, meta, placed } = this.drawing!;
    return shownNeighbours(tree, graph.edges, meta, placed.open, entity);
  }

  /** False if there is nothing to search yet, or another search came first. The current hit stays if it is to be `kept`. */
  async search(text: string, kept = false): Promise<boolean> {
    const { drawing, finder } = this;
    const found = drawing !== null && (await finder.search(text, drawing.graph, drawing.tree, this.facts(), kept));
    if (found) this.viewport.changed();
    return found;
  }

  /** Repeats the search if the facts in `about` may have changed; the current hit stays if it is still one. */
  searchAgain(about: RegExp): void {
    const { asked } = this.finder;
    if (about.test(asked)) void this.search(asked, true);
  }

  /** Facts about the nodes of a pane; of another run's graph only their health. */
  facts(): SearchFacts {
    const { drawing } = this;
    const health = this.colouring.value?.health;
    if (!drawing || !health) return NO_FACTS;
    const state = (row: number): number => health[drawing.tree.entityOf[row]!]!;
    const { graph, problems, lines } = runFacts.value;
    const known = graph?.names === drawing.graph.names ? { problems, lines } : NO_FACTS;
    return { ...NO_FACTS, ...known, nan: (row) => state(row) === NAN, inf: (row) => state(row) === INF };
  }

  /** Advances animations; true while they continue. */
  advance(now: number): boolean {
    this.viewport.advance(now);
    if (!this.motion.active) return this.viewport.flying;
    const t = Math.min(1, (now - this.motionStart) / MOTION_MS);
    this.motion.t = easeOut(t);
    if (t >= 1) this.motion.finish();
    this.holdAnchor();
    return this.motion.active || this.viewport.flying;
  }

  /** Stores the selection and its screen position; the result restores both in a reloaded graph. */
  private holdPlace(): () => void {
    const { drawing } = this;
    const entity = this.shown(this.selected);
    const before = this.onScreen(entity);
    if (!drawing || entity < 0 || !before) return () => this.fit(false);
    const find = sameEntity(drawing, this.selected);
    return () => {
      const again = find(this.drawing!);
      if (again < 0) return;
      this.setSelected(again);
      const now = this.onScreen(this.shown(again));
      if (now) this.viewport.pan(before.x - now.x, before.y - now.y);
    };
  }

  private receive(graph: GraphData, reply: LayoutReply): void {
    if (reply.type === 'failed') this.status.value = { kind: 'failed', message: reply.message };
    else if (reply.type === 'progress') this.progress.value = { done: reply.done, total: reply.total };
    else if (reply.type === 'loaded') this.loaded(graph, reply);
    else if (reply.type === 'update') this.update(reply.update);
  }

  private loaded(graph: GraphData, { tree, meta, update, focus }: LoadedReply): void {
    const placed = new PlacedGraph(tree);
    placed.apply(update);
    const again = this.drawing !== null;
    this.shownLoad = this.loads;
    this.drawing = { graph, tree, meta, placed, small: smallNodes(graph.opTypes) };
    this.status.value = { kind: 'ready' };
    this.recolour();
    this.setChain(this.chain);
    this.tracer.follow(this.trace, this.drawing);
    this.hasBlocks.value = hasBlocks(tree);
    if (again) {
      this.renumber();
      this.backTo?.();
      this.backTo = null;
    } else if (focus > 0) this.look(focus);
    else this.fit(false);
    this.reportOpen();
    this.layouts.value++;
    if (again) return;
    this.reported = null;
    this.select(this.wanted);
  }

  /** A later version of a graph may number entities differently. */
  private renumber(): void {
    this.hover.value = null;
    this.setSelected(entityNamed(this.drawing!, this.reported));
    if (this.finder.asked !== '') void this.search(this.finder.asked);
  }

  private update(update: LayoutUpdate): void {
    const { drawing } = this;
    this.pending--;
    this.progress.value = null;
    this.setHover(null);
    if (!drawing) return;
    const { placed } = drawing;
    const still = prefersStillness() || update.scopes.length > MOST_MOVING;
    const before = placed.open.slice();
    if (!still) this.motion.start(placed);
    placed.apply(update);
    if (!still) {
      const opened = [...update.scopes].filter((scope) => !before[scope]);
      this.motion.appear(opened, placed);
      this.motionStart = performance.now();
    } else this.motion.finish();
    this.holdAnchor();
    this.setNeighbours();
    this.reportOpen();
    for (const then of this.afterUpdate.splice(0)) then();
    // If the view moves elsewhere, nothing is anchored: a slow frame may end the flight before the boxes arrive.
    if (this.viewport.flying) this.anchor = null;
    this.layouts.value++;
    this.screen?.layoutChanged();
  }

  /** Returns whether it was sent: not between two loads. */
  private setOpen(scopes: readonly number[], open: boolean, around: number): boolean {
    const { drawing, viewport } = this;
    if (!drawing || this.shownLoad !== this.loads) return false;
    this.pending++;
    this.anchor = anchorAt(drawing.placed, this.motion, viewport.camera, viewport.view, this.shown(around));
    this.client?.setOpen(scopes, open);
    return true;
  }

  private holdAnchor(): void {
    const { anchor, drawing, viewport } = this;
    if (!anchor || !drawing || viewport.flying) return;
    viewport.jump(heldCamera(anchor, drawing.placed, this.motion, viewport.camera, viewport.view));
    if (!this.motion.active) this.anchor = null;
  }

  /** Selection that that is not reported. */
  setSelected(entity: number): void {
    this.selected = entity;
    this.setNeighbours();
    this.announcement.value = this.drawing && entity >= 0 ? `Selected ${describe(this.drawing, entity)}` : '';
    this.screen?.request();
  }

  private setNeighbours(): void {
    this.neighbours = this.selected >= 0 && this.drawing ? this.neighboursOf(this.selected) : [];
  }

  private recolour(): void {
    if (!this.drawing) return;
    const { graph, tree } = this.drawing;
    this.colouring.value = makeColouring({ graph, tree, overlay: this.overlay, colour: this.colour, theme: this.themeColours });
    this.screen?.layoutChanged();
  }

  private reportOpen(): void {
    const { tree, placed, graph } = this.drawing!;
    const { innermost, count } = openScopes(tree, placed.open);
    this.anyOpen.value = count > 0;
    const all = count === tree.scopeCount - 1 && count > 0;
    const paths = innermost.slice(0, MOST_REPORTED).map((scope) => scopePath(tree, graph.paths, scope));
    this.openPaths = all ? ['*'] : paths;
    this.events.expanded(this.openPaths);
  }
}
