/** NumPy's basic indexing of a row-major array by a selection text such as `0,:,10:20:2`. */
export function select(values: Float32Array, shape: number[], selection: string): { shape: number[]; values: Float32Array } {
  const parts = selection === '' ? [] : selection.split(',');
  const axes = shape.map((length, dim) => indices(parts[dim] ?? ':', length));
  const outShape = axes.filter((axis) => !axis.drop).map((axis) => axis.at.length);
  const out = new Float32Array(axes.reduce((product, axis) => product * axis.at.length, 1));
  const strides = shape.map((_, dim) => shape.slice(dim + 1).reduce((product, length) => product * length, 1));
  for (let i = 0; i < out.length; i++) {
    let rest = i;
    let from = 0;
    for (let dim = axes.length - 1; dim >= 0; dim--) {
      const { at } = axes[dim] as { at: number[] };
      from += (at[rest % at.length] as number) * (strides[dim] as number);
      rest = Math.floor(rest / at.length);
    }
    out[i] = values[from] as number;
  }
  return { shape: outShape, values: out };
}

function indices(part: string, length: number): { at: number[]; drop: boolean } {
  if (!part.includes(':')) return { at: [Number(part)], drop: true };
  const [start, stop, step] = part.split(':');
  const by = step ? Number(step) : 1;
  const end = Math.min(length, stop ? Number(stop) : length);
  const at: number[] = [];
  for (let i = start ? Number(start) : 0; i < end; i += by) at.push(i);
  return { at, drop: false };
}
