import { describe, expect, test } from 'vitest';
import { ColumnsError, DictColumn, decodeColumns, TextColumn } from './columns';

interface Part {
  name: string;
  type: string;
  data: ArrayBufferView[];
  count: number;
  values?: string[];
}

/** What the server writes, as server/http_api.md has it. */
function encode(parts: readonly Part[], meta: object = {}, magic = 'TTCOLS01'): ArrayBuffer {
  const chunks: Uint8Array[] = [];
  let used = 0;
  const put = (view: ArrayBufferView): { offset: number; length: number } => {
    const padding = (8 - (used % 8)) % 8;
    chunks.push(new Uint8Array(padding), new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
    const offset = used + padding;
    used = offset + view.byteLength;
    return { offset, length: view.byteLength };
  };
  const columns = parts.map(({ name, type, data, count, values }) => {
    const first = put(data[0]!);
    const bytes = data[1] ? put(data[1]) : undefined;
    return {
      name,
      type,
      count,
      ...first,
      ...(bytes ? { bytes_offset: bytes.offset, bytes_length: bytes.length } : {}),
      ...(values ? { values } : {}),
    };
  });
  const json = new TextEncoder().encode(JSON.stringify({ meta, columns }));
  const headerLength = Math.ceil((json.length + 12) / 8) * 8 - 12;
  const out = new Uint8Array(12 + headerLength + used).fill(32);
  out.set(new TextEncoder().encode(magic));
  new DataView(out.buffer).setUint32(8, headerLength, true);
  out.set(json, 12);
  let at = 12 + headerLength;
  for (const chunk of chunks) {
    out.set(chunk, at);
    at += chunk.length;
  }
  return out.buffer;
}

function textPart(name: string, rows: readonly string[]): Part {
  const { offsets, bytes } = TextColumn.of(rows);
  return { name, type: 'utf8', data: [offsets, bytes], count: rows.length };
}

describe('decodeColumns', () => {
  test('reads every type, and meta', () => {
    const buffer = encode(
      [
        { name: 'i', type: 'i32', data: [Int32Array.of(-1, 2, 3)], count: 3 },
        { name: 'u', type: 'u8', data: [Uint8Array.of(1, 0, 1)], count: 3 },
        { name: 'f', type: 'f64', data: [Float64Array.of(0.5, Number.NaN, Number.POSITIVE_INFINITY)], count: 3 },
        textPart('t', ['a/b', '', 'c']),
        { name: 'd', type: 'dict', data: [Int32Array.of(1, 0, 1)], count: 3, values: ['Add', 'MatMul'] },
      ],
      { step: 3 },
    );
    const columns = decodeColumns(buffer);
    expect(columns.meta).toEqual({ step: 3 });
    expect([...columns.i32('i')]).toEqual([-1, 2, 3]);
    expect([...columns.u8('u')]).toEqual([1, 0, 1]);
    expect([...columns.f64('f')]).toEqual([0.5, Number.NaN, Number.POSITIVE_INFINITY]);
    expect([0, 1, 2].map((row) => columns.text('t').at(row))).toEqual(['a/b', '', 'c']);
    expect([0, 1, 2].map((row) => columns.dict('d').at(row))).toEqual(['MatMul', 'Add', 'MatMul']);
    expect(columns.names).toEqual(['i', 'u', 'f', 't', 'd']);
  });

  test('reads texts that are not ASCII', () => {
    const columns = decodeColumns(encode([textPart('shape', ['32×?×10', '\uFEFFx', '8'])]));
    expect([0, 1, 2].map((row) => columns.text('shape').at(row))).toEqual(['32×?×10', '\uFEFFx', '8']);
  });

  test('reads an empty table', () => {
    const columns = decodeColumns(encode([textPart('t', []), { name: 'i', type: 'i32', data: [new Int32Array(0)], count: 0 }]));
    expect(columns.text('t').length).toBe(0);
    expect(columns.i32('i').length).toBe(0);
  });

  const whole = encode([{ name: 'f', type: 'f64', data: [Float64Array.of(1, 2, 3)], count: 3 }]);
  test.each([
    ['not columns', new TextEncoder().encode('<!doctype html>').buffer, /has no columns/],
    ['empty', new ArrayBuffer(0), /has no columns/],
    ['a later format', encode([], {}, 'TTCOLS02'), /TTCOLS02/],
    ['a cut header', whole.slice(0, 20), /header is truncated/],
    ['cut data', whole.slice(0, whole.byteLength - 8), /"f" is truncated/],
    ['an unknown type', encode([{ name: 'x', type: 'i128', data: [new Uint8Array(8)], count: 1 }]), /unknown type i128/],
  ])('says what is wrong with %s', (_, buffer, message) => {
    expect(() => decodeColumns(buffer as ArrayBuffer)).toThrow(message);
  });

  test('says which column is missing or of another type', () => {
    const columns = decodeColumns(whole);
    expect(() => columns.i32('f')).toThrow(ColumnsError);
    expect(() => columns.i32('f')).toThrow(/"f" should be i32, but it is f64/);
    expect(() => columns.f64('g')).toThrow(/"g".*missing/);
  });
});

test('a dict column has an empty text for unknown codes', () => {
  expect(new DictColumn(Int32Array.of(-1, 5), ['a']).at(0)).toBe('');
  expect(DictColumn.of(['b', 'a', 'b']).values).toEqual(['b', 'a']);
});
