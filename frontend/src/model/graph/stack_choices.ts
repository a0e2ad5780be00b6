/** Which stacks are wanted, as the address holds it: paths of those that are not; `*` for none. */

import { enclosingScopes, type Paths, type ScopeTree, scopePath } from './tree';

export const NO_STACKS: readonly string[] = ['*'];

/** The stack that an entity is, or is in: or would be in, had nobody unstacked it. Null where nothing repeats. */
export interface StackPlace {
  readonly path: string;
  readonly stacked: boolean;
}

export function stackPlace(tree: ScopeTree, paths: Paths, entity: number): StackPlace | null {
  if (entity < 0) return null;
  const own = entity >= tree.nodeCount ? [entity - tree.nodeCount] : [];
  for (const scope of [...own, ...enclosingScopes(tree, entity)]) {
    if (tree.stacks.has(scope)) return { path: scopePath(tree, paths, scope), stacked: true };
    const path = tree.unstacked.get(scope);
    if (path !== undefined) return { path, stacked: false };
  }
  return null;
}

/** The choice with one stack taken apart, or put together again. */
export function withToggled(tree: ScopeTree, unstacked: readonly string[], { path, stacked }: StackPlace): readonly string[] {
  if (stacked) return [...unstacked, path];
  const before = unstacked.includes('*') ? [...new Set(tree.unstacked.values())] : unstacked;
  return before.filter((other) => other !== path);
}

/** Whether anything repeats in the graph. */
export function hasBlocks(tree: ScopeTree): boolean {
  return tree.stacks.size + tree.unstacked.size > 0;
}
