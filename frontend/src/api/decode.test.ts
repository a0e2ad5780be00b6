import { describe, expect, it } from 'vitest';
import { readTextValue } from './decode';

describe('readTextValue', () => {
  it('keeps NUL at the end of a string', () => {
    const array = readTextValue({ dtype: 'string', shape: [2, 1], data: [['a\u0000'], ['b']] });
    expect(array).toEqual({ kind: 'S', shape: [2, 1], values: ['a\u0000', 'b'] });
  });

  it('cuts long text', () => {
    const [text] = readTextValue({ dtype: 'string', shape: [], data: 'a'.repeat(9999) }).values as string[];
    expect(text).toBe(`${'a'.repeat(4096)}… (9,999 characters)`);
  });

  it('reads a scalar and no elements', () => {
    expect(readTextValue({ dtype: 'string', shape: [], data: 'x' }).values).toEqual(['x']);
    expect(readTextValue({ dtype: 'string', shape: [0, 3], data: [] }).values).toEqual([]);
  });
});
