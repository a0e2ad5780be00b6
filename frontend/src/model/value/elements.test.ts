import { describe, expect, test } from 'vitest';
import { exactText, numberAt, textAt } from './elements';

describe('exactText', () => {
  test.each([
    [Math.fround(0.1), 'float32', '0.1'],
    [Math.fround(1 / 3), 'float32', '0.33333334'],
    [0.1, 'float64', '0.1'],
    [1 / 3, 'float64', '0.3333333333333333'],
    [0.0999755859375, 'float16', '0.1'],
    [0.10009765625, 'bfloat16', '0.1'],
    [3.140625, 'bfloat16', '3.14'],
    [Math.fround(1e-10), 'float32', '1e-10'],
    [Math.fround(-1.2345678e-7), 'float32', '-1.2345679e-7'],
    [16777216, 'float32', '16777216'],
    [-0, 'float32', '-0'],
    [Number.NaN, 'float32', 'NaN'],
    [Number.NEGATIVE_INFINITY, 'float16', '-Inf'],
  ])('%d as %s is %s', (value, dtype, text) => {
    expect(exactText(value, dtype)).toBe(text);
  });

  test('reads back as the same float32', () => {
    let seed = 1;
    for (let i = 0; i < 2000; i++) {
      seed = (seed * 48271) % 2147483647;
      const value = Math.fround((seed / 2147483647 - 0.5) * 10 ** ((seed % 60) - 30));
      expect(Math.fround(Number(exactText(value, 'float32')))).toBe(value);
    }
  });
});

describe('elements', () => {
  test('integers of 64 bits are exact', () => {
    const array = { kind: 'i8', shape: [1], values: BigInt64Array.of(2n ** 53n + 1n) };
    expect(textAt(array, 0, 'int64')).toBe('9007199254740993');
  });

  test('complex numbers are drawn by their modulus and read as NumPy writes them', () => {
    const array = { kind: 'c8', shape: [2], values: Float32Array.of(3, -4, 1, Number.NaN) };
    expect([numberAt(array, 0), textAt(array, 0, 'complex64'), textAt(array, 1, 'complex64')]).toEqual([5, '3-4j', '1+NaNj']);
  });

  test('booleans and text', () => {
    expect(textAt({ kind: 'b1', shape: [2], values: Uint8Array.of(1, 0) }, 0, 'bool')).toBe('True');
    const text = { kind: 'S3', shape: [1], values: ['abc'] };
    expect(textAt(text, 0, 'string')).toBe('abc');
    expect(numberAt(text, 0)).toBeNaN();
  });
});

test('characters that draw nothing are written out', () => {
  const array = { kind: 'S4', shape: [2], values: ['x\0y', 'π z'] };
  expect([0, 1].map((i) => textAt(array, i, 'string'))).toEqual(['x\\u0000y', 'π z']);
});
