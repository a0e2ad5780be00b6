/** Texts in the boxes of nodes and scopes: the line below the label, and labels shortened so that siblings remain distinct. */

import type { DictColumn, TextColumn } from '../../lib/arrays/columns';
import { counted } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import { entityLabel, ownLabel, type ScopeTree } from './tree';

export interface LabelColumns {
  readonly paths: TextColumn;
  readonly opTypes: DictColumn;
  readonly shapes: DictColumn;
}

/** Second line of a node: its op type, unless the label contains it, and its shape. */
export function nodeSubtitle(tree: ScopeTree, columns: LabelColumns, row: number): string {
  const opType = columns.opTypes.at(row);
  const shape = columns.shapes.at(row);
  const label = entityLabel(tree, columns.paths, row);
  if (namesOpType(label, opType)) return visible(shape);
  return visible([opType, shape].filter(Boolean).join(' '));
}

const namesOpType = (label: string, opType: string): boolean =>
  label === opType || label.startsWith(`${opType}_`) || label.endsWith(`/${opType}`);

/** Second line of a scope: its number of nodes, the blocks of a group, and for a function the op type of its caller. */
export function scopeSubtitle(tree: ScopeTree, columns: Omit<LabelColumns, 'shapes'>, scope: number): string {
  const nodes = tree.nodesIn[scope]!;
  const count = counted(nodes, 'node');
  const stack = tree.blockGroups.get(scope);
  if (stack) return visible(`${ownLabel(tree, columns.paths, scope)} … ${stack.last} · ${count}`);
  const owner = tree.owner[scope]!;
  if (owner < 0) return count;
  const opType = columns.opTypes.at(owner);
  return namesOpType(entityLabel(tree, columns.paths, tree.nodeCount + scope), opType) ? count : visible(`${opType} · ${count}`);
}

/** Names shortened to a number of letters so that siblings remain distinct. */

/** The first and last letters around an ellipsis: both ends of a name distinguish it from its siblings. */
export function elide(text: string, keep: number): string {
  const head = Math.ceil(keep / 2);
  return `${text.slice(0, head)}…${text.slice(text.length - (keep - head))}`;
}

/** The names in one scope. */
export class SiblingNames {
  /** By number of letters: replacements for names with a common beginning. */
  private readonly shortNames = new Map<number, ReadonlyMap<string, string>>();
  private names: readonly string[] | null = null;

  constructor(private readonly list: () => readonly string[]) {}

  /** A name shortened to `keep` letters; `elide` if no form of that length distinguishes it from its siblings. */
  shorten(name: string, keep: number): string {
    let shortNames = this.shortNames.get(keep);
    if (!shortNames) {
      this.names ??= this.list();
      const found = new Map<string, string>();
      const cut = this.names.filter((other) => other.length > keep);
      const taken = new Set<string>();
      for (const alike of equals(cut, (other) => other.slice(0, Math.ceil(keep / 2)))) tell(alike, keep, found, taken);
      shortNames = found;
      this.shortNames.set(keep, shortNames);
    }
    return shortNames.get(name) ?? elide(name, keep);
  }
}

/** Candidate forms of a name, the most readable first; `from` is where it first differs from the others. */
const PARTS: readonly ((name: string, keep: number, from: number) => string)[] = [
  elide,
  (name, keep) => `${name.slice(0, keep)}…`,
  (name, keep) => `…${name.slice(-keep)}`,
  (name, keep, from) => `…${name.slice(from, from + keep - 1)}…`,
];

/** Maximum rounds of distinguishing equal forms; names that need more are hostile. */
const ROUNDS = 4;

/**
 * Shows the part of each name that distinguishes most of them, then the differing part of those that are still equal. Forms in `taken`
 * would be ambiguous.
 */
function tell(names: readonly string[], keep: number, found: Map<string, string>, taken: Set<string>, rounds = ROUNDS): void {
  const from = sharedStart(names);
  let best: string[] = [];
  let most = 1;
  for (const part of PARTS) {
    const forms = names.map((name) => part(name, keep, from));
    const distinct = new Set(forms).size;
    if (distinct > most && !forms.some((form) => taken.has(form))) [best, most] = [forms, distinct];
    if (most === names.length) break;
  }
  if (most === 1) return;
  names.forEach((name, i) => {
    found.set(name, best[i]!);
    taken.add(best[i]!);
  });
  if (most === names.length || rounds === 1) return;
  for (const alike of equals(names, (name) => found.get(name)!)) tell(alike, keep, found, taken, rounds - 1);
}

/** Groups of several names that have one form. */
function equals(names: readonly string[], form: (name: string) => string): string[][] {
  const groups = new Map<string, string[]>();
  for (const name of names) {
    const key = form(name);
    const group = groups.get(key);
    if (group) group.push(name);
    else groups.set(key, [name]);
  }
  return [...groups.values()].filter((group) => group.length > 1);
}

/** Length of the common prefix of all names. */
function sharedStart(names: readonly string[]): number {
  const [first] = names;
  let shared = first!.length;
  for (const name of names) {
    let at = 0;
    while (at < shared && name[at] === first![at]) at++;
    shared = at;
  }
  return shared;
}
