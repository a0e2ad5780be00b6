/** What-ifs: named lists of changes to tensors of one recorded step, with undo. All functions return new values. */

/** The replacement of a tensor `x` (docs/replay.md lists the expressions). */
export interface Change {
  readonly tensor: string;
  readonly expression: string;
}

interface WhatIf {
  readonly name: string;
  readonly made: readonly Change[];
  readonly undone: readonly Change[];
}

/** `current` is a name, or null for the recorded step. */
export interface WhatIfs {
  readonly current: string | null;
  readonly all: readonly WhatIf[];
}

/** As the server saves them. */
export type SavedWhatIfs = Readonly<Record<string, readonly (readonly [string, string])[]>>;

export const NO_WHAT_IFS: WhatIfs = { current: null, all: [] };

/** Maximum that the server accepts. */
export const MOST_WHAT_IFS = 50;

export function changesOf(whatIfs: WhatIfs, name: string | null = whatIfs.current): readonly Change[] {
  return whatIfs.all.find((each) => each.name === name)?.made ?? [];
}

/** A new current what-if with the changes of the previous one. */
export function begin(whatIfs: WhatIfs, name: string = freeName(whatIfs)): WhatIfs {
  if (whatIfs.all.some((each) => each.name === name) || whatIfs.all.length >= MOST_WHAT_IFS) return whatIfs;
  return { current: name, all: [...whatIfs.all, { name, made: changesOf(whatIfs), undone: [] }] };
}

function freeName(whatIfs: WhatIfs): string {
  let number = 1;
  while (whatIfs.all.some((each) => each.name === `what-if ${number}`)) number++;
  return `what-if ${number}`;
}

/** Adds a change to the current what-if; on the recorded step, a new one starts. */
export function withChange(whatIfs: WhatIfs, change: Change): WhatIfs {
  const begun = whatIfs.current === null ? begin(whatIfs) : whatIfs;
  return replaceCurrent(begun, ({ name, made }) => ({ name, made: [...made, change], undone: [] }));
}

export function undo(whatIfs: WhatIfs): WhatIfs {
  return replaceCurrent(whatIfs, (each) => {
    const last = each.made.at(-1);
    return last ? { name: each.name, made: each.made.slice(0, -1), undone: [...each.undone, last] } : each;
  });
}

export function redo(whatIfs: WhatIfs): WhatIfs {
  return replaceCurrent(whatIfs, (each) => {
    const last = each.undone.at(-1);
    return last ? { name: each.name, made: [...each.made, last], undone: each.undone.slice(0, -1) } : each;
  });
}

export function drop(whatIfs: WhatIfs, name: string): WhatIfs {
  return { current: whatIfs.current === name ? null : whatIfs.current, all: whatIfs.all.filter((each) => each.name !== name) };
}

function replaceCurrent(whatIfs: WhatIfs, next: (each: WhatIf) => WhatIf): WhatIfs {
  return { ...whatIfs, all: whatIfs.all.map((each) => (each.name === whatIfs.current ? next(each) : each)) };
}

/** Applies the difference of `before` and `next` to `now`: other changes made since stay, and a taken name is replaced. */
export function carried(before: WhatIfs, next: WhatIfs, now: WhatIfs): WhatIfs {
  if (now === before) return next;
  let result = now;
  let current = next.current;
  for (const each of next.all.filter((one) => !before.all.includes(one))) {
    const old = before.all.find((one) => one.name === each.name);
    if (old) result = { ...result, all: result.all.map((one) => (one === old ? each : one)) };
    else {
      const taken = result.all.some((one) => one.name === each.name);
      const name = taken ? freeName({ ...result, all: [...result.all, ...next.all] }) : each.name;
      if (each.name === next.current) current = name;
      result = { ...result, all: [...result.all, { ...each, name }] };
    }
  }
  const moved = now.current !== before.current || !result.all.some((each) => each.name === current);
  return { ...result, current: moved ? now.current : current };
}

export function toSaved(whatIfs: WhatIfs): SavedWhatIfs {
  return Object.fromEntries(
    whatIfs.all.map(({ name, made }) => [name, made.map(({ tensor, expression }) => [tensor, expression] as const)]),
  );
}

export function fromSaved(saved: SavedWhatIfs): WhatIfs {
  const all = Object.entries(saved).map(([name, made]) => ({
    name,
    made: made.map(([tensor, expression]) => ({ tensor, expression })),
    undone: [],
  }));
  return { current: null, all };
}

/** The expression that sets one element, from its index (`0,3`) and the text of its value. */
export function elementChange(index: string, text: string): string {
  const place = index.includes(',') ? `(${index.replaceAll(',', ', ')})` : index;
  const value = text.trim().toLowerCase().replace(/^\+/, '').replace('−', '-');
  return `put(x, ${place}, ${value === 'true' ? 1 : value === 'false' ? 0 : value})`;
}

/** Ready-made changes: a label, and the text for the box. */
export const READY_CHANGES = [
  { label: 'Replace NaN and Inf', text: 'where(isfinite(x), x, 0)' },
  { label: 'Clip', text: 'clip(x, -1, 1)' },
  { label: 'Scale', text: 'x * 0.5' },
  { label: 'Cast', text: "cast(x, 'float16')" },
  { label: 'Set an element', text: 'put(x, (0, 0), 1.5)' },
  { label: 'Another step', text: 'step(0)' },
] as const;
