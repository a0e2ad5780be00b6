/** Finds tensors, steps, source lines and layers named in a sentence, to make them links. */

export type SentencePiece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'tensor'; readonly text: string; readonly tensor: string }
  | { readonly kind: 'step'; readonly text: string; readonly step: number }
  | { readonly kind: 'line'; readonly text: string; readonly place: string }
  | { readonly kind: 'layer'; readonly text: string; readonly layer: string };

/** Names that the run has: a sentence may contain words that only look like names. */
export interface Named {
  node(name: string): boolean;
  layer(path: string): boolean;
  step(step: number): boolean;
}

/** Characters around a name that are not part of it. */
const AROUND = /^([("'“‘[]*)(.*?)([)"'”’\].,;:!?]*)$/s;
const LINE = /^\S+\.(?:py|pyx|ipynb):\d+$/i;
const TENSOR = /^(.+):\d+$/;

/** The sentence in pieces; joined they give the sentence. */
export function sentencePieces(sentence: string, known: Named): SentencePiece[] {
  const pieces: SentencePiece[] = [];
  const plain = (text: string): void => {
    const last = pieces.at(-1);
    if (last?.kind === 'text') pieces[pieces.length - 1] = { kind: 'text', text: last.text + text };
    else if (text !== '') pieces.push({ kind: 'text', text });
  };
  let before = '';
  for (const [word, space] of words(sentence)) {
    const [, open = '', name = '', close = ''] = AROUND.exec(word) ?? [];
    const found = linkOf(name, before, known);
    if (found) {
      plain(open);
      pieces.push(found);
      plain(close + space);
    } else plain(word + space);
    before = name.toLowerCase();
  }
  return pieces;
}

/** Each word with the space after it. */
const words = (sentence: string): [string, string][] =>
  [...sentence.matchAll(/(\S*)(\s*)/g)].filter(([all]) => all !== '').map(([, word = '', space = '']) => [word, space]);

function linkOf(name: string, before: string, known: Named): SentencePiece | null {
  if (/^steps?$/.test(before) && /^\d{1,15}$/.test(name) && known.step(Number(name)))
    return { kind: 'step', text: name, step: Number(name) };
  if (LINE.test(name)) return { kind: 'line', text: name, place: name };
  const node = TENSOR.exec(name)?.[1];
  if (node !== undefined && known.node(node)) return { kind: 'tensor', text: name, tensor: name };
  // A single word may belong to the sentence.
  const telling = name.includes('/') || before === 'layer';
  if (telling && known.layer(name)) return { kind: 'layer', text: name, layer: name };
  if (name.includes('/') && known.node(name)) return { kind: 'tensor', text: name, tensor: `${name}:0` };
  return null;
}

interface HintPiece {
  readonly text: string;
  /** Whether it is an existing name, without its quotes; else the words between names. */
  readonly name: boolean;
}

const PROPOSAL = /^Did you mean /;
const QUOTED = /'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"/g;
const BYTES = /\\[^'"\\]/;

/** Other hints are one piece; a name with escaped bytes stays quoted. */
export function hintPieces(hint: string): HintPiece[] {
  const pieces: HintPiece[] = [];
  let done = 0;
  for (const found of PROPOSAL.test(hint) ? hint.matchAll(QUOTED) : []) {
    const quoted = found[1] ?? found[2] ?? '';
    if (BYTES.test(quoted.replaceAll('\\\\', ''))) continue;
    pieces.push({ text: hint.slice(done, found.index), name: false });
    pieces.push({ text: quoted.replace(/\\(.)/g, '$1'), name: true });
    done = found.index + found[0].length;
  }
  if (done < hint.length) pieces.push({ text: hint.slice(done), name: false });
  return pieces;
}
