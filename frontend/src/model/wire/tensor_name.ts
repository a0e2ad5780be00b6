import { visible } from '../../lib/visible_text';

/** `node:slot`; a name without a slot means slot 0. */
export interface TensorName {
  node: string;
  slot: number;
}

export function parseTensorName(name: string): TensorName {
  const found = /^(.*):(\d+)$/s.exec(name);
  return found ? { node: found[1] as string, slot: Number(found[2]) } : { node: name, slot: 0 };
}

export function tensorName(node: string, slot: number): string {
  return `${node}:${slot}`;
}

/** Splits a name for display: the scope in front (with its last `/`) and the node's own label; what is invisible is written out. */
export function splitScope(name: string): { scope: string; label: string } {
  const shown = visible(name);
  const cut = shown.lastIndexOf('/') + 1;
  return { scope: shown.slice(0, cut), label: shown.slice(cut) };
}
