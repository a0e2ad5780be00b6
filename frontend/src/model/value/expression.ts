import type { DimMapping } from './dims';

export interface TensorAddress {
  logdir: string;
  run: string;
  tensor: string;
  step: number;
  visit: number;
  worker: string | null;
  graph: string | null;
}

/** The Python expression that reads the same elements: `tensortap.open("logs").runs["r"].tensor("a:0", step=3)[0, :]`. */
export function numpyExpression(address: TensorAddress, mapping: DimMapping | null): string {
  const args = [python(address.tensor), `step=${address.step}`];
  if (address.visit > 0) args.push(`visit=${address.visit}`);
  if (address.worker !== null) args.push(`worker=${python(address.worker)}`);
  if (address.graph !== null) args.push(`graph=${python(address.graph)}`);
  const call = `tensortap.open(${python(address.logdir)}).runs[${python(address.run)}].tensor(${args.join(', ')})`;
  return call + subscript(mapping);
}

function subscript(mapping: DimMapping | null): string {
  if (mapping === null || !mapping.some((role) => typeof role === 'number')) return '[...]';
  return `[${mapping.map((role) => (typeof role === 'number' ? String(role) : ':')).join(', ')}]`;
}

/** A Python string literal; JSON's escapes are also Python's. */
function python(text: string): string {
  return JSON.stringify(text);
}
