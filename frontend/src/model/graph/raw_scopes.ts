/**
 * First pass of building the scope tree: one scope per path prefix, before short ones dissolve and chains merge. Works on the bytes of
 * the paths with a custom hash table: strings for each prefix would take ten times as long.
 */

import type { TextColumn } from '../../lib/arrays/columns';

const SLASH = 47;

export class RawScopes {
  readonly parent: number[] = [-1];
  /** A node whose path holds this scope's path in its first `end` characters; the label begins at `start`. */
  readonly row: number[] = [0];
  readonly start: number[] = [0];
  readonly end: number[] = [0];
  private readonly hashes: number[] = [0];
  /** 1 for scopes that contain scopes: most contain only nodes, and need no search. */
  private readonly holdsScopes: number[] = [0];
  /** Open addressing: scope numbers, 0 for empty (the whole graph is never looked up). */
  private table = new Int32Array(1024);
  /** Scopes of the previous path, and their ends. */
  private readonly trail: number[] = [];
  private lastFirst = 0;
  private lastEnd = 0;

  constructor(private readonly paths: TextColumn) {}

  get count(): number {
    return this.parent.length;
  }

  /** The scope that contains a node; creates missing scopes along its path. Fastest if rows are in order. */
  add(row: number): number {
    const { offsets, bytes } = this.paths;
    const first = offsets[row]!;
    const last = offsets[row + 1]!;
    // Neighbouring nodes in the dump mostly share most of their path: continue where it differs from the previous one.
    const { lastFirst } = this;
    const known = Math.min(this.lastEnd - lastFirst, last - first);
    let same = 0;
    while (same < known && bytes[first + same] === bytes[lastFirst + same]) same++;
    while (this.trail.length > 0 && this.end[this.trail[this.trail.length - 1]!]! >= same) this.trail.pop();
    let scope = this.trail[this.trail.length - 1] ?? 0;
    let from = first + (scope === 0 ? 0 : this.end[scope]! + 1);
    for (let at = from; at < last; at++) {
      if (bytes[at] !== SLASH) continue;
      scope = this.child(scope, row, from, at, true);
      this.trail.push(scope);
      from = at + 1;
    }
    this.lastFirst = first;
    this.lastEnd = last;
    return scope;
  }

  /** The scope that has the very path of a node held by `scope`, or -1. */
  named(row: number, scope: number): number {
    if (this.holdsScopes[scope] === 0) return -1;
    const { offsets } = this.paths;
    const from = offsets[row]! + (scope === 0 ? 0 : this.end[scope]! + 1);
    return this.child(scope, row, from, offsets[row + 1]!, false);
  }

  /** Turns positions in bytes into positions in characters, where these differ. */
  countCharacters(): void {
    if (this.paths.whole().length === this.paths.bytes.length) return;
    const decoder = new TextDecoder();
    const characters = (row: number, bytes: number): number => {
      const from = this.paths.offsets[row]!;
      return decoder.decode(this.paths.bytes.subarray(from, from + bytes)).length;
    };
    for (let scope = 1; scope < this.count; scope++) {
      this.start[scope] = characters(this.row[scope]!, this.start[scope]!);
      this.end[scope] = characters(this.row[scope]!, this.end[scope]!);
    }
  }

  /** The scope below `parent` whose label is in bytes `from` to `to`. */
  private child(parent: number, row: number, from: number, to: number, make: boolean): number {
    const hash = this.hash(parent, from, to);
    const mask = this.table.length - 1;
    let slot = hash & mask;
    for (let scope = this.table[slot]!; scope !== 0; scope = this.table[slot]!) {
      if (this.hashes[scope] === hash && this.parent[scope] === parent && this.sameLabel(scope, from, to)) return scope;
      slot = (slot + 1) & mask;
    }
    if (!make) return -1;
    const scope = this.parent.push(parent) - 1;
    const begin = this.paths.offsets[row]!;
    this.row.push(row);
    this.start.push(from - begin);
    this.end.push(to - begin);
    this.hashes.push(hash);
    this.holdsScopes.push(0);
    this.holdsScopes[parent] = 1;
    this.table[slot] = scope;
    if (this.count * 2 > this.table.length) this.growTable();
    return scope;
  }

  /** FNV-1a over the label's bytes, begun with the parent's number. */
  private hash(parent: number, from: number, to: number): number {
    let hash = Math.imul(parent ^ 0x811c9dc5, 0x01000193);
    for (let at = from; at < to; at++) hash = Math.imul(hash ^ this.paths.bytes[at]!, 0x01000193);
    return (hash ^ (hash >>> 15)) & 0x7fffffff;
  }

  private sameLabel(scope: number, from: number, to: number): boolean {
    const { bytes, offsets } = this.paths;
    const other = offsets[this.row[scope]!]! + this.start[scope]!;
    if (this.end[scope]! - this.start[scope]! !== to - from) return false;
    for (let i = 0; i < to - from; i++) if (bytes[other + i] !== bytes[from + i]) return false;
    return true;
  }

  private growTable(): void {
    this.table = new Int32Array(4 * this.table.length);
    const mask = this.table.length - 1;
    for (let scope = 1; scope < this.count; scope++) {
      let slot = this.hashes[scope]! & mask;
      while (this.table[slot] !== 0) slot = (slot + 1) & mask;
      this.table[slot] = scope;
    }
  }
}

/** All scopes; for each node the scope that holds it, and the scope that has its very path (-1: none). */
export function collectScopes(paths: TextColumn): { scopes: RawScopes; scopeOf: Int32Array; ownScope: Int32Array } {
  const scopes = new RawScopes(paths);
  const scopeOf = new Int32Array(paths.length);
  for (let row = 0; row < paths.length; row++) scopeOf[row] = scopes.add(row);
  const ownScope = new Int32Array(paths.length);
  for (let row = 0; row < paths.length; row++) ownScope[row] = scopes.named(row, scopeOf[row]!);
  scopes.countCharacters();
  return { scopes, scopeOf, ownScope };
}
