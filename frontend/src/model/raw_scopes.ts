/** First pass of building the scope tree: one scope for each path prefix, before short ones are dissolved and chains merged. */

import type { TextColumn } from '../lib/columns';

export class RawScopes {
  readonly parent: number[] = [-1];
  /** A node whose path holds this scope's path in its first `end` characters; the label begins at `start`. */
  readonly row: number[] = [0];
  readonly start: number[] = [0];
  readonly end: number[] = [0];
  private readonly byPath = new Map<string, number>([['', 0]]);

  get count(): number {
    return this.parent.length;
  }

  /** The scope of `path.slice(0, end)`, made if new. */
  add(path: string, end: number, row: number): number {
    if (end <= 0) return 0;
    const prefix = path.slice(0, end);
    const known = this.byPath.get(prefix);
    if (known !== undefined) return known;
    const slash = path.lastIndexOf('/', end - 1);
    const parent = this.add(path, slash, row);
    const scope = this.parent.push(parent) - 1;
    this.row.push(row);
    this.start.push(slash + 1);
    this.end.push(end);
    this.byPath.set(prefix, scope);
    return scope;
  }

  find(path: string): number {
    return this.byPath.get(path) ?? -1;
  }
}

/** All scopes, and the scope of each node's path. */
export function collectScopes(paths: TextColumn): { scopes: RawScopes; scopeOf: Int32Array } {
  const scopes = new RawScopes();
  const scopeOf = new Int32Array(paths.length);
  let before = '';
  let beforeScope = 0;
  for (let row = 0; row < paths.length; row++) {
    const path = paths.at(row);
    const end = path.lastIndexOf('/');
    // Neighbours in the dump mostly share their scope: comparing is cheaper than hashing.
    if (end !== before.length || !path.startsWith(before)) {
      beforeScope = scopes.add(path, end, row);
      before = end > 0 ? path.slice(0, end) : '';
    }
    scopeOf[row] = beforeScope;
  }
  return { scopes, scopeOf };
}
