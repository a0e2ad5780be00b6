import { expect, test } from 'vitest';
import { makeGraph } from '../graph/graph_fixture';
import { parseQuery } from './query';
import { NO_FACTS, runQuery } from './search';
import { SEARCH_FORMS } from './search_forms';

test('every form can be read', () => {
  for (const { form } of SEARCH_FORMS) expect(parseQuery(form).error).toBeNull();
});

test('examples are of what the graph has, and have hits', () => {
  const graph = makeGraph(
    [
      { path: 'net/Const', op: 'Const' },
      { path: 'net/MatMul', op: 'MatMul', layer: 'dense', shape: '32×10' },
      { path: 'net/Relu', op: 'Relu' },
    ],
    ['net/Const -> net/MatMul', 'net/MatMul -> net/Relu'],
  );
  const facts = {
    ...NO_FACTS,
    nan: () => true,
    problems: [{ rule: 'DeadRelu', node: 'net/Relu' }],
    lines: { files: [{ file: '/me/train.py', embedded: true }], stacks: [{ frames: [[0, 17]] as [number, number][], nodes: [1] }] },
  };
  const examples = SEARCH_FORMS.map(({ example }) => example(graph, facts));
  expect(examples).toMatchInlineSnapshot(`
    [
      "op:MatMul",
      "-op:Const",
      "layer:dense",
      "dtype:float32",
      "shape:32x10",
      "/MatMul(_\\d+)?$/",
      "MatMul->.*->Relu",
      "train.py:17",
      "is:nan",
      "problem:DeadRelu",
    ]
  `);
  for (const text of examples) expect(runQuery(graph, parseQuery(text ?? ''), facts).rows.length).toBeGreaterThan(0);
  const bare = { ...NO_FACTS, lines: { files: [], stacks: [] } };
  expect(SEARCH_FORMS.flatMap(({ example }) => example(makeGraph([]), bare) ?? [])).toEqual(['is:nan']);
});
