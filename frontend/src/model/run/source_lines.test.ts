import { describe, expect, it, test } from 'vitest';
import {
  filesByNodes,
  filesCalled,
  LINE,
  linesOfFiles,
  lineTop,
  numberedLines,
  PART,
  parsePlace,
  partsOf,
  type SourceMap,
  worst,
} from './source_lines';

const MAP: SourceMap = {
  files: [
    { file: 'train.py', embedded: true },
    { file: 'model.py', embedded: false },
  ],
  stacks: [
    {
      frames: [
        [0, 9],
        [1, 4],
      ],
      nodes: [5, 2],
    },
    {
      frames: [
        [0, 9],
        [0, 3],
        [0, 9],
      ],
      nodes: [1],
    },
    {
      frames: [
        [0, 9],
        [1, 4],
      ],
      nodes: [3],
    },
  ],
};

describe('lines of a file', () => {
  it('hold the nodes they made, and count those of the calls they began', () => {
    const [train, model] = linesOfFiles(MAP);
    expect(train?.get(9)).toEqual({ line: 9, nodes: [1], through: 3 });
    expect(train?.get(3)).toEqual({ line: 3, nodes: [], through: 1 });
    expect(model?.get(4)?.nodes).toEqual([2, 3, 5]);
  });

  it('take the worst health of their nodes', () => {
    expect(worst(Uint8Array.of(0, 1, 3, 2), [1, 3])).toBe(2);
    expect(worst(Uint8Array.of(1), [])).toBe(0);
  });

  it('puts the file first that made most nodes', () => {
    expect(filesByNodes(MAP).map(({ file, nodes }) => [file, nodes])).toEqual([
      ['model.py', 3],
      ['train.py', 1],
    ]);
  });

  it('reads places with colons in the name', () => {
    expect(parsePlace('C:\\a.py:12')).toEqual({ file: 'C:\\a.py', line: 12 });
    expect(parsePlace('a.py')).toEqual({ file: 'a.py', line: null });
  });
});

it.each([
  ['/a/train.py', ['/a/train.py']],
  ['train.py', ['/a/train.py', '/b/train.py']],
  ['b/train.py', ['/b/train.py']],
  ['net/model.py', ['C:\\net\\model.py']],
  ['rain.py', []],
  ['zzz.py', []],
])('%s is the file of that path, or those whose path ends so', (name, found) => {
  const files = ['/a/train.py', '/b/train.py', 'C:\\net\\model.py'].map((file) => ({ file }));
  expect(filesCalled(files, name).map(({ file }) => file)).toEqual(found);
});

const text = Array.from({ length: 250 }, (_, i) => `x${i + 1}`).join('\n');
const made = new Map([170, 130, 7].map((line) => [line, { line, nodes: line === 7 ? [] : [1], through: 1 }]));
const lines = numberedLines(text, made);

test('a file is drawn part by part, and no line is lost', () => {
  const parts = partsOf(lines);
  expect(parts.map((part) => part.length)).toEqual([PART, PART, 50]);
  expect(parts.flat()).toEqual(lines);
  expect(lines[249]).toEqual({ line: 250, text: 'x250' });
});

test('without a text there are the lines that made nodes, in order', () => {
  expect(numberedLines(null, made).map(({ line }) => line)).toEqual([7, 130, 170]);
});

test('the chosen line comes into view, else the first that made nodes where it is out of view', () => {
  expect(lineTop(lines, 201, made, 600)).toBe(200 * LINE);
  expect(lineTop(lines, null, made, 600)).toBe(129 * LINE);
  expect(lineTop(lines, null, made, 5000)).toBeNull();
  expect(lineTop(lines, null, new Map(), 600)).toBeNull();
});
