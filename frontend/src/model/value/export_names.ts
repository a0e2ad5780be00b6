/** Names of exported values: of a file, and as a Python expression. */

import type { DimMapping } from './dims';

/** Content of an exported file. */
export interface FileOf {
  tensor: string;
  step?: number | undefined;
  /** The iteration, if there are several; else null. */
  visit?: number | null;
  /** Selection of the value, in the server's notation: `0,:,10:20`. */
  selection?: string;
  /** Kind of chart: `histogram`. */
  what?: string | undefined;
}

const LONGEST_NAME = 100;
const LONGEST_PART = 120;

/** File name for a tensor, without extension; the server names its files in the same way (server/routes/values.py). */
export function tensorFile({ tensor, step, visit, selection, what }: FileOf): string {
  const name = tensor
    .replace(/[^A-Za-z0-9._-]+/g, '_')
    .replace(/^[._]+|[._]+$/g, '')
    .slice(-LONGEST_NAME);
  const parts = (selection ?? '').split(',');
  const whole = parts.every((part) => part === '' || part === ':');
  return [
    name || 'tensor',
    step === undefined ? '' : `-step${step}`,
    visit == null ? '' : `-visit${visit}`,
    whole ? '' : `-at_${parts.map(speakable).join('_')}`.slice(0, LONGEST_PART),
    what === undefined ? '' : `-${what}`,
  ].join('');
}

/** A selection without colons, which some file systems refuse: `10to20`, `all`, `allby2`. */
function speakable(part: string): string {
  const [first = '', ...bounds] = part.split(':');
  if (bounds.length === 0) return first;
  const span = first || bounds[0] ? `${first}to${bounds[0]}` : 'all';
  return (
    span +
    bounds
      .slice(1)
      .map((stride) => `by${stride}`)
      .join('')
  );
}

interface TensorAddress {
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
