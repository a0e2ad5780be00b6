/** What is written into a node's box, below its label; what is not seen in an op type or shape written out. */

import type { DictColumn, TextColumn } from '../../lib/columns';
import { counted } from '../../lib/format';
import { visible } from '../../lib/visible_text';
import { entityLabel, ownLabel, type ScopeTree } from './tree';

export interface LabelColumns {
  readonly paths: TextColumn;
  readonly opTypes: DictColumn;
  readonly shapes: DictColumn;
}

/** Second line of a node: its op type, unless the label says it, and its shape. */
export function nodeSubtitle(tree: ScopeTree, columns: LabelColumns, row: number): string {
  const opType = columns.opTypes.at(row);
  const shape = columns.shapes.at(row);
  const label = entityLabel(tree, columns.paths, row);
  const told = label === opType || label.startsWith(`${opType}_`) || label.endsWith(`/${opType}`);
  if (told) return visible(shape);
  return visible([opType, shape].filter(Boolean).join(' '));
}

/** Second line of a scope: how much is in it, of which blocks a stack is made, and for a function what calls it. */
export function scopeSubtitle(tree: ScopeTree, columns: Omit<LabelColumns, 'shapes'>, scope: number): string {
  const nodes = tree.nodesIn[scope]!;
  const count = counted(nodes, 'node');
  const stack = tree.stacks.get(scope);
  if (stack) return visible(`${ownLabel(tree, columns.paths, scope)} … ${stack.last} · ${count}`);
  const owner = tree.owner[scope]!;
  return owner < 0 ? count : visible(`${columns.opTypes.at(owner)} · ${count}`);
}
