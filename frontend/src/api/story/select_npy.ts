import { encodeNpy } from '../encode';

/** Part of an .npy file, by NumPy's basic indexing as in addresses: `0,:,10:20:2`. Null if the file or the selection is invalid. */
export function selectNpy(buffer: ArrayBuffer, selection: string): ArrayBuffer | null {
  if (selection === '') return buffer;
  const bytes = new Uint8Array(buffer);
  const wide = bytes[6] !== 1;
  const start = wide ? 12 : 10;
  const length = wide ? new DataView(buffer).getUint32(8, true) : new DataView(buffer).getUint16(8, true);
  const header = new TextDecoder('latin1').decode(bytes.subarray(start, start + length));
  const descr = /'descr'\s*:\s*'([<>|=]?[a-zA-Z](\d+))'/.exec(header);
  const shapeText = /'shape'\s*:\s*\(([^)]*)\)/.exec(header)?.[1];
  if (!descr || shapeText === undefined || /'fortran_order'\s*:\s*True/.test(header)) return null;
  const itemsize = Number(descr[2]) * (/U/.test(descr[1]!) ? 4 : 1);
  const shape = shapeText
    .split(',')
    .filter((part) => part.trim() !== '')
    .map(Number);
  const parts = selection.split(',');
  if (parts.length > shape.length) return null;
  const axes = shape.map((extent, axis) => indices(parts[axis] ?? ':', extent));
  if (axes.some((axis) => axis === null)) return null;
  const chosen = axes as { at: number[]; drop: boolean }[];
  const outShape = chosen.filter(({ drop }) => !drop).map(({ at }) => at.length);
  const count = chosen.reduce((product, { at }) => product * at.length, 1);
  const out = new Uint8Array(count * itemsize);
  const strides = shape.map((_, axis) => shape.slice(axis + 1).reduce((product, extent) => product * extent, itemsize));
  const data = start + length;
  for (let i = 0; i < count; i++) {
    let [rest, from] = [i, data];
    for (let axis = chosen.length - 1; axis >= 0; axis--) {
      const { at } = chosen[axis]!;
      from += at[rest % at.length]! * strides[axis]!;
      rest = Math.floor(rest / at.length);
    }
    out.set(bytes.subarray(from, from + itemsize), i * itemsize);
  }
  return encodeNpy(descr[1]!, outShape, out);
}

function indices(part: string, extent: number): { at: number[]; drop: boolean } | null {
  const text = part.trim();
  if (/^-?\d+$/.test(text)) {
    const at = Number(text) < 0 ? Number(text) + extent : Number(text);
    return at >= 0 && at < extent ? { at: [at], drop: true } : null;
  }
  const range = /^(\d*):(\d*)(?::(\d*))?$/.exec(text);
  if (!range) return null;
  const [first, stop, by] = [Number(range[1] || 0), Math.min(extent, Number(range[2] || extent)), Number(range[3] || 1)];
  if (by < 1) return null;
  const at: number[] = [];
  for (let i = first; i < stop; i += by) at.push(i);
  return { at, drop: false };
}
