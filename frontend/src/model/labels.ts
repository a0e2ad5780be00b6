/** What is written into a node's box. */

import type { DictColumn, TextColumn } from '../lib/columns';
import { entityLabel, type ScopeTree } from './tree';

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
  if (told) return shape;
  return shape ? `${opType} ${shape}` : opType;
}
