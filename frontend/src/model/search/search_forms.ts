/** Forms of a search: one row per form, for the sheet below the empty box and for the help. */

import type { DictColumn } from '../../lib/arrays/columns';
import { isAuxiliary, type OpFamily, opFamily } from '../graph/op_kinds';
import type { GraphData } from '../wire/graph';
import { parseQuery } from './query';
import type { SearchFacts } from './search';
import { runQuery } from './search';

interface SearchForm {
  readonly form: string;
  readonly does: string;
  /** The form with an example of this graph; null if there is none. */
  readonly example: (graph: GraphData, facts: SearchFacts) => string | null;
}

export const SEARCH_FORMS: readonly SearchForm[] = [
  { form: 'op:MatMul', does: 'By op type', example: (graph) => field('op', mostOf(graph.opTypes, isMain)) },
  { form: '-op:Const', does: 'Exclude matches', example: (graph) => hidden(graph) },
  { form: 'layer:dense', does: 'By Keras layer', example: (graph) => field('layer', mostOf(graph.layers)) },
  { form: 'dtype:float32', does: 'By dtype (also device:, function:)', example: (graph) => field('dtype', mostOf(graph.dtypes)) },
  {
    form: 'shape:32x10',
    does: 'By shape',
    example: (graph) => field('shape', mostOf(graph.shapes, (shape) => shape.includes('×'))?.replaceAll('×', 'x') ?? null),
  },
  { form: '/conv\\d+.*Relu$/', does: 'Regular expression', example: pattern },
  { form: 'MatMul->.*->Softmax', does: 'Path pattern', example: chain },
  { form: 'train.py:17', does: 'By source line', example: (_, { lines }) => line(lines) },
  { form: 'is:nan', does: 'Contains NaN at this step (also is:inf)', example: () => 'is:nan' },
  {
    form: 'problem:dead',
    does: 'By finding',
    example: (_, { problems }) => (problems[0] ? `problem:${problems[0].rule}` : null),
  },
];

const isMain = (op: string): boolean => !isAuxiliary(op) && ['linear', 'activation'].includes(opFamily(op));
const field = (name: string, value: string | null): string | null => (value !== null && !/\s/.test(value) ? `${name}:${value}` : null);

/** All but the most frequent op, if that does not compute anything. */
function hidden({ opTypes }: GraphData): string | null {
  const name = field('op', mostOf(opTypes, isAuxiliary));
  return name && `-${name}`;
}

/** Nodes named like one of the most frequent op. */
function pattern({ opTypes, names }: GraphData): string | null {
  const op = mostOf(opTypes, isMain);
  const row = op === null ? -1 : opTypes.codes.indexOf(opTypes.values.indexOf(op));
  const label = row < 0 ? '' : names.at(row).replace(/^.*\/|_\d+$/g, '');
  return /^\w+$/.test(label) ? `/${label}(_\\d+)?$/` : null;
}

/** The most frequent value; null if none is suitable. */
function mostOf(column: DictColumn, wanted: (value: string) => boolean = Boolean): string | null {
  const counts = new Int32Array(column.values.length);
  for (const code of column.codes) if (code >= 0) counts[code]!++;
  let best = -1;
  counts.forEach((count, code) => {
    if (wanted(column.values[code]!) && count > (counts[best] ?? 0)) best = code;
  });
  return column.values[best] ?? null;
}

/** Number of op types of each kind that are tried for a chain. */
const MOST_TRIED = 3;

/** From a multiplication to an activation, so that there is a hit. */
function chain(graph: GraphData): string | null {
  const from = familyOps(graph, 'linear');
  for (const to of familyOps(graph, 'activation')) {
    for (const text of from.map((op) => `${op}->.*->${to}`)) if (runQuery(graph, parseQuery(text)).rows.length > 0) return text;
  }
  return null;
}

function familyOps({ opTypes }: GraphData, family: OpFamily): string[] {
  return opTypes.values.filter((op) => opFamily(op) === family && /^\w+$/.test(op)).slice(0, MOST_TRIED);
}

function line(lines: SearchFacts['lines']): string | null {
  const most = lines?.stacks.reduce((a, b) => (b.nodes.length > a.nodes.length ? b : a), lines.stacks[0] ?? { frames: [], nodes: [] });
  const [file, number] = most?.frames.at(-1) ?? [];
  const name = lines?.files[file ?? -1]?.file.replace(/^.*[\\/]/, '');
  return name && /\.(?:py|pyx|ipynb)$/i.test(name) && !/\s/.test(name) ? `${name}:${number}` : null;
}
