/**
 * The layout of a graph whose scopes expand and collapse. A scope is laid out when it is first expanded, and again when something in it
 * changes its size; collapsed scopes cost nothing.
 */

import { visible } from '../lib/text/visible_text';
import type { LabelColumns } from '../model/graph/labels';
import { nodeSubtitle, scopeSubtitle } from '../model/graph/labels';
import type { MetaEdges } from '../model/graph/meta_edges';
import { isAuxiliary } from '../model/graph/op_kinds';
import { entityLabel, type ScopeTree } from '../model/graph/tree';
import { LayoutMemo } from './memo';
import { type LayoutUpdate, UpdateWriter } from './messages';
import { scopeGraph } from './scope/scope_graph';
import { layoutScope, type ScopeContext, type ScopeLayout } from './scope/scope_layout';
import { blockGroupWidth, CLOSED_HEIGHT, closedWidth, NODE_HEIGHT, nodeWidth, SMALL_HEIGHT, smallWidth } from './scope/sizes';

interface EngineInput {
  readonly tree: ScopeTree;
  readonly meta: MetaEdges;
  readonly columns: LabelColumns;
}

export class LayoutEngine {
  readonly open: Uint8Array;
  private readonly dirty: Uint8Array;
  private readonly measured: Uint8Array;
  private readonly local: Int32Array;
  private readonly auxiliaryCode: boolean[];
  private readonly context: ScopeContext;
  private readonly memo = new LayoutMemo();

  constructor(private readonly input: EngineInput) {
    const { tree, meta, columns } = input;
    const entities = tree.nodeCount + tree.scopeCount;
    this.open = new Uint8Array(tree.scopeCount);
    this.open[0] = 1;
    this.dirty = new Uint8Array(tree.scopeCount).fill(1);
    this.measured = new Uint8Array(tree.scopeCount);
    this.local = new Int32Array(entities);
    this.auxiliaryCode = columns.opTypes.values.map(isAuxiliary);
    const sizes = {
      width: new Float32Array(entities),
      height: new Float32Array(entities),
      restWidth: new Float32Array(entities),
      restHeight: new Float32Array(entities),
      inX: new Float32Array(entities),
      outX: new Float32Array(entities),
    };
    this.context = {
      sizes,
      isAuxiliary: (entity) => entity < tree.nodeCount && this.auxiliaryCode[columns.opTypes.codes[entity]!] === true,
      isScope: (entity) => entity >= tree.nodeCount,
      isOpen: (entity) => entity >= tree.nodeCount && this.open[entity - tree.nodeCount] === 1,
      bridges: meta,
    };
  }

  /** Expands or collapses scopes; `relayout` then reports what moved. */
  setOpen(scopes: Iterable<number>, open: boolean): void {
    const { tree } = this.input;
    const value = open ? 1 : 0;
    for (const scope of scopes) {
      if (scope <= 0 || scope >= tree.scopeCount || this.open[scope] === value) continue;
      this.open[scope] = value;
      for (let k = scope; k >= 0 && !(k !== scope && this.dirty[k]); k = tree.parent[tree.nodeCount + k]!) this.dirty[k] = 1;
      if (!open) this.restoreSize(scope);
    }
  }

  /**
   * Lays out every visible scope that needs it, innermost first. Yields the number of finished scopes about every `chunk` children, for
   * progress and cancelling; returns the changes.
   */
  *relayout(chunk = 2000): Generator<number, LayoutUpdate> {
    const shown = this.shownDirty();
    const writer = new UpdateWriter(this.input.tree, this.context.sizes);
    let children = 0;
    for (let i = shown.length - 1; i >= 0; i--) {
      const scope = shown[i]!;
      children += this.layoutOne(scope, writer);
      if (children < chunk) continue;
      children = 0;
      yield shown.length - i;
    }
    return writer.finish(this.open);
  }

  /** All at once. */
  relayoutNow(): LayoutUpdate {
    const run = this.relayout(Number.POSITIVE_INFINITY);
    for (;;) {
      const step = run.next();
      if (step.done) return step.value;
    }
  }

  /** Scopes to lay out, outermost first (scopes are numbered depth first). */
  shownDirty(): number[] {
    const { tree } = this.input;
    const scopes: number[] = [];
    for (let scope = 0; scope < tree.scopeCount; ) {
      if (!this.open[scope]) {
        scope = tree.subtreeEnd[scope]!;
        continue;
      }
      if (this.dirty[scope]) scopes.push(scope);
      scope++;
    }
    return scopes;
  }

  private layoutOne(scope: number, writer: UpdateWriter): number {
    const { tree, meta } = this.input;
    if (scope > 0 && this.context.sizes.restWidth[tree.nodeCount + scope] === 0) this.measure(tree.nodeCount + scope);
    this.measureChildren(scope);
    const graph = scopeGraph(tree, meta, scope, this.local);
    const layout = this.memo.get(graph, this.context, () => layoutScope(graph, this.context));
    this.setSize(scope, layout);
    this.dirty[scope] = 0;
    writer.add(graph, layout);
    return graph.entities.length;
  }

  private setSize(scope: number, layout: ScopeLayout): void {
    const { sizes } = this.context;
    const entity = this.input.tree.nodeCount + scope;
    sizes.width[entity] = Math.max(layout.width, sizes.restWidth[entity]!);
    sizes.height[entity] = layout.height;
    const extra = (sizes.width[entity]! - layout.width) / 2;
    sizes.inX[entity] = sizes.outX[entity] = layout.plug + extra;
  }

  private restoreSize(scope: number): void {
    const { sizes } = this.context;
    const entity = this.input.tree.nodeCount + scope;
    sizes.width[entity] = sizes.restWidth[entity]!;
    sizes.height[entity] = sizes.restHeight[entity]!;
    sizes.inX[entity] = sizes.outX[entity] = sizes.width[entity]! / 2;
  }

  private measureChildren(scope: number): void {
    if (this.measured[scope]) return;
    this.measured[scope] = 1;
    const { tree } = this.input;
    for (let i = tree.childStart[scope]!; i < tree.childStart[scope + 1]!; i++) this.measure(tree.children[i]!);
  }

  private measure(entity: number): void {
    const { tree, columns } = this.input;
    const { sizes, isAuxiliary: auxiliary } = this.context;
    const label = visible(entityLabel(tree, columns.paths, entity)); // as drawn
    const node = entity < tree.nodeCount;
    const small = node && auxiliary(entity);
    const stack = !node && tree.blockGroups.has(entity - tree.nodeCount);
    const width = stack
      ? blockGroupWidth(label, scopeSubtitle(tree, columns, entity - tree.nodeCount))
      : !node
        ? closedWidth(label)
        : small
          ? smallWidth(label)
          : nodeWidth(label, nodeSubtitle(tree, columns, entity));
    const height = !node ? CLOSED_HEIGHT : small ? SMALL_HEIGHT : NODE_HEIGHT;
    sizes.restWidth[entity] = width;
    sizes.restHeight[entity] = height;
    if (!node && this.open[entity - tree.nodeCount] && !this.dirty[entity - tree.nodeCount]) return;
    sizes.width[entity] = width;
    sizes.height[entity] = height;
    sizes.inX[entity] = sizes.outX[entity] = width / 2;
  }
}
