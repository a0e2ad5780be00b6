import type { NpyArray } from '../lib/npy';
import { shortened } from '../lib/utf8';

/** A value as `format=json` answers it. */
export interface WireValue {
  dtype: string;
  shape: number[];
  data: unknown;
}

/** Text out of JSON: an .npy file pads strings with NUL, so those that end in one are answered as JSON only. */
export function readTextValue({ shape, data }: WireValue): NpyArray {
  const flat = Array.isArray(data) ? data.flat(Number.POSITIVE_INFINITY) : [data];
  return { kind: 'S', shape, values: flat.map((text) => shortened(String(text))) };
}
