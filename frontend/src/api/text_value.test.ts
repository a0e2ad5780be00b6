import { describe, expect, it } from 'vitest';
import { readTextValue } from './text_value';

describe('readTextValue', () => {
  it('keeps NUL at the end of a string', () => {
    const array = readTextValue({ dtype: 'string', shape: [2, 1], data: [['a\u0000'], ['b']] });
    expect(array).toEqual({ kind: 'S', shape: [2, 1], values: ['a\u0000', 'b'] });
  });

  it('reads a scalar and no elements', () => {
    expect(readTextValue({ dtype: 'string', shape: [], data: 'x' }).values).toEqual(['x']);
    expect(readTextValue({ dtype: 'string', shape: [0, 3], data: [] }).values).toEqual([]);
  });
});
