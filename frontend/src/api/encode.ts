/** Writers of the binary formats that the page reads: columns (server/http_api.md) and .npy. */
export type ColumnSource = Int32Array | Float64Array | Uint8Array | { text: string[] } | { dict: string[] };

interface Part {
  header: Record<string, unknown>;
  buffers: { key: string; bytes: Uint8Array }[];
}

export function encodeColumns(meta: Record<string, unknown>, columns: Record<string, ColumnSource>): ArrayBuffer {
  const parts = Object.entries(columns).map(([name, source]) => part(name, source));
  let offset = 0;
  const placed: { at: number; bytes: Uint8Array }[] = [];
  for (const { header, buffers } of parts) {
    for (const { key, bytes } of buffers) {
      header[`${key}offset`] = offset;
      header[`${key}length`] = bytes.length;
      placed.push({ at: offset, bytes });
      offset += Math.ceil(bytes.length / 8) * 8;
    }
  }
  const json = JSON.stringify({ meta, columns: parts.map(({ header }) => header) });
  const encoded = new TextEncoder().encode(json);
  const headerLength = Math.ceil((12 + encoded.length) / 8) * 8 - 12;
  const out = new Uint8Array(12 + headerLength + offset).fill(32, 12, 12 + headerLength);
  out.set(new TextEncoder().encode('TTCOLS01'));
  new DataView(out.buffer).setUint32(8, headerLength, true);
  out.set(encoded, 12);
  for (const { at, bytes } of placed) out.set(bytes, 12 + headerLength + at);
  return out.buffer;
}

function part(name: string, source: ColumnSource): Part {
  if (source instanceof Int32Array) return plain(name, 'i32', source, source.length);
  if (source instanceof Float64Array) return plain(name, 'f64', source, source.length);
  if (source instanceof Uint8Array) return plain(name, 'u8', source, source.length);
  if ('dict' in source) {
    const values = [...new Set(source.dict)];
    const codes = Int32Array.from(source.dict, (text) => values.indexOf(text));
    return { header: { name, type: 'dict', count: codes.length, values }, buffers: [{ key: '', bytes: new Uint8Array(codes.buffer) }] };
  }
  const encoder = new TextEncoder();
  const rows = source.text.map((text) => encoder.encode(text));
  const offsets = new Uint32Array(rows.length + 1);
  rows.forEach((row, i) => {
    offsets[i + 1] = (offsets[i] as number) + row.length;
  });
  const bytes = encoder.encode(source.text.join(''));
  const buffers = [
    { key: '', bytes: new Uint8Array(offsets.buffer) },
    { key: 'bytes_', bytes },
  ];
  return { header: { name, type: 'utf8', count: rows.length }, buffers };
}

function plain(name: string, type: string, source: Int32Array | Float64Array | Uint8Array, count: number): Part {
  const bytes = new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  return { header: { name, type, count }, buffers: [{ key: '', bytes }] };
}

export function encodeNpy(descr: string, shape: number[], data: Uint8Array): ArrayBuffer {
  const tuple = shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(', ')})`;
  const text = `{'descr': '${descr}', 'fortran_order': False, 'shape': ${tuple}, }`;
  const length = Math.ceil((10 + text.length + 1) / 64) * 64 - 10;
  const out = new Uint8Array(10 + length + data.length);
  out.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, length & 255, length >> 8]);
  out.set(new TextEncoder().encode(`${text.padEnd(length - 1)}\n`), 10);
  out.set(data, 10 + length);
  return out.buffer;
}
