/** Hints of the server, split at names: `Did you mean 'a', 'b' or 'c'?` names what there is, as Python quotes it. */

interface HintPiece {
  readonly text: string;
  /** Whether it is a name that is there, without its quotes; else the words around names. */
  readonly name: boolean;
}

const PROPOSAL = /^Did you mean /;
const QUOTED = /'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"/g;
const BYTES = /\\[^'"\\]/;

/** Other hints are one piece; a name with escapes that stand for bytes stays as it is quoted. */
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
