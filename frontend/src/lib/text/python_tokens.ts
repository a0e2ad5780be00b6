/** Python source as tokens, for colours: without a grammar, and without trusting its content. */

type TokenKind = 'comment' | 'string' | 'keyword' | 'number' | 'definition' | 'decorator' | 'plain';

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
}

const KEYWORDS =
  'False|None|True|and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield';

const TOKEN = new RegExp(
  [
    '(?<comment>#.*$)',
    `(?<string>(?:\\b[rbfuRBFU]{1,2})?(?:"""|'''|"(?:\\\\.|[^"\\\\])*"?|'(?:\\\\.|[^'\\\\])*'?))`,
    '(?<decorator>^\\s*@[\\w.]+)',
    '(?<=\\b(?:def|class)\\s+)(?<definition>\\w+)',
    `\\b(?<keyword>${KEYWORDS})\\b`,
    '(?<number>(?<![\\w.])(?:0[xXbBoO][\\da-fA-F_]+|(?:\\d[\\d_]*\\.?\\d*|\\.\\d+)(?:[eE][-+]?\\d+)?j?))',
  ].join('|'),
  'g',
);

/** Longer lines are not written by people. */
const LONGEST = 2000;

/** The tokens of each line; a triple-quoted string may span several. */
export function pythonTokens(lines: readonly string[]): Token[][] {
  let open = '';
  return lines.map((line) => {
    const tokens: Token[] = [];
    if (line.length > LONGEST) return [{ kind: 'plain', text: line }];
    let at = 0;
    if (open !== '') {
      const end = line.indexOf(open);
      if (end < 0) return [{ kind: 'string', text: line }];
      at = end + open.length;
      tokens.push({ kind: 'string', text: line.slice(0, at) });
      open = '';
    }
    TOKEN.lastIndex = at;
    for (let match = TOKEN.exec(line); match !== null; match = TOKEN.exec(line)) {
      if (match[0] === '') break;
      if (match.index > at) tokens.push({ kind: 'plain', text: line.slice(at, match.index) });
      let text = match[0];
      const kind = Object.entries(match.groups ?? {}).find(([, found]) => found !== undefined)?.[0] as TokenKind;
      const quotes = text.slice(-3);
      if (kind === 'string' && (quotes === '"""' || quotes === "'''")) {
        const end = line.indexOf(quotes, match.index + text.length);
        if (end < 0) open = quotes;
        text = end < 0 ? line.slice(match.index) : line.slice(match.index, end + 3);
        TOKEN.lastIndex = match.index + text.length;
      }
      tokens.push({ kind, text });
      at = match.index + text.length;
    }
    if (at < line.length) tokens.push({ kind: 'plain', text: line.slice(at) });
    return tokens;
  });
}
