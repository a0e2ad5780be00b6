/**
 * Parser of searches. Terms are separated by spaces and must all match: a text in the name, `/a regular expression/`, a field
 * (`op:MatMul`), a source line (`train.py:17`), or connected nodes (`MatMul->.*->Softmax`, connected.ts). A minus in front (`-op:Const`)
 * negates a term.
 */

export const QUERY_FIELDS = ['op', 'layer', 'dtype', 'shape', 'device', 'function', 'is', 'problem', 'source'] as const;
export type Field = (typeof QUERY_FIELDS)[number];

export interface FieldTerm {
  readonly kind: 'field';
  readonly field: Field;
  /** In lower case. */
  readonly text: string;
}

/** One part of a connected pattern: an op type, a label or a field; null for any number of nodes. */
export type ChainStep = RegExp | FieldTerm | null;

export type Term = { readonly hides: boolean } & Condition;

type Condition =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'pattern'; readonly pattern: RegExp }
  | FieldTerm
  | { readonly kind: 'chain'; readonly steps: readonly ChainStep[] };

export interface Query {
  readonly terms: readonly Term[];
  /** What is wrong with the text, for its author. */
  readonly error: string | null;
}

const EXAMPLES: Record<Field, string> = {
  op: 'op:MatMul',
  layer: 'layer:dense',
  dtype: 'dtype:float32',
  shape: 'shape:32x10',
  device: 'device:gpu',
  function: 'function:train_step',
  is: 'is:nan',
  problem: 'problem:nan',
  source: 'source:train.py:17',
};

/** Terms between spaces; a pattern extends to its closing slash, including spaces, and a name like a/b is not a pattern. */
const WORDS = /(?:^|(?<=\s))(-)?\/((?:\\.|[^\\/])+)\/(?=\s|$)|(\S+)/g;
/** `train.py:17`, or only the file. */
const PLACE = /\.(?:py|pyx|ipynb)(?::\d+)?$/i;
/** An unfinished `/a regular expression`; a path may begin with a slash. */
const UNCLOSED = /^\/.*[[\](){}*+?^$|\\]/;

/** Never throws: `error` reports invalid terms. */
export function parseQuery(text: string): Query {
  const terms: Term[] = [];
  let error: string | null = null;
  for (const [, minus, pattern, word] of text.replace(/\s*->\s*/g, '->').matchAll(WORDS)) {
    try {
      terms.push(
        pattern === undefined ? wordTerm(word!) : { kind: 'pattern', pattern: new RegExp(pattern, 'i'), hides: minus !== undefined },
      );
    } catch (failure) {
      error ??= (failure as Error).message.replace(/^Invalid regular expression: /, 'not a regular expression: ');
    }
  }
  return { terms, error };
}

/** A minus negates a field, or a text longer than the minus. */
function wordTerm(word: string): Term {
  const hides = /^-[^->]/.test(word);
  return { ...conditionOf(hides ? word.slice(1) : word), hides };
}

function conditionOf(word: string): Condition {
  if (word.includes('->')) {
    const steps = word.split('->');
    if (steps.includes('')) throw new SyntaxError('-> needs a node on both sides: MatMul->Softmax or MatMul->.*->Softmax');
    return { kind: 'chain', steps: steps.map(chainStep) };
  }
  if (UNCLOSED.test(word)) throw new SyntaxError(`close the regular expression with a slash: ${word}/`);
  if (PLACE.test(word) && !/^source:/i.test(word)) return { kind: 'field', field: 'source', text: word.toLowerCase() };
  return fieldTerm(word) ?? { kind: 'text', text: word.toLowerCase() };
}

function fieldTerm(word: string): FieldTerm | null {
  const colon = word.indexOf(':');
  const field = QUERY_FIELDS.find((name) => name === word.slice(0, colon).toLowerCase());
  if (!field) return null;
  if (colon === word.length - 1) throw new SyntaxError(`${field}: needs a value, e.g. ${EXAMPLES[field]}`);
  return { kind: 'field', field, text: word.slice(colon + 1).toLowerCase() };
}

/** Keras computes matrix products as Einsum, too. */
const ALIASES = new Map([['matmul', 'MatMul|Einsum']]);

/** Throws SyntaxError for an invalid regular expression. */
function chainStep(text: string): ChainStep {
  if (text === '.*') return null;
  return fieldTerm(text) ?? new RegExp(ALIASES.get(text.toLowerCase()) ?? text, 'i');
}
