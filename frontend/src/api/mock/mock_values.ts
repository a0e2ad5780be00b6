import type { MockNode } from './mock_network';

/** A small seeded generator (mulberry32): the same tensor and step always give the same numbers. */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

function hash(text: string): number {
  let value = 2166136261;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
  return value >>> 0;
}

/** From this step on, `loss/Log` gets a zero, and everything downstream is NaN. */
export const BREAK_STEP = 185;

const HURT = /^(gradient_tape|adam|loss)/;

/** Mock values of a node's output: at most `limit` elements (enough for statistics). */
export function mockArray(node: MockNode, step: number, limit = Number.POSITIVE_INFINITY): Float32Array {
  const size = node.shape.reduce((product, length) => product * length, 1);
  const out = new Float32Array(Math.min(size, limit));
  const random = generator(hash(node.name) + step * 7919);
  const { scale, shift } = distribution(node, step);
  for (let i = 0; i < out.length; i++) out[i] = shape(node, shift + scale * normal(random), i);
  if (HURT.test(node.name) && step >= BREAK_STEP) hurt(node, out, step, random);
  return out;
}

function distribution(node: MockNode, step: number): { scale: number; shift: number } {
  const drift = Math.log1p(step) / 6;
  if (node.name.startsWith('adam')) return { scale: 1e-3 / (1 + drift), shift: 0 };
  if (node.name.startsWith('gradient_tape')) return { scale: 0.02 * Math.exp(-drift) + 0.002, shift: 0 };
  if (/kernel|bias/.test(node.name)) return { scale: 0.08 + 0.02 * drift, shift: 0.01 * drift };
  if (node.name.startsWith('loss')) return { scale: 0.3, shift: 2.3 * Math.exp(-drift) };
  return { scale: 0.8 + drift, shift: 0.2 * drift };
}

function shape(node: MockNode, value: number, i: number): number {
  if (node.dtype === 'bool') return value > 0 ? 1 : 0;
  if (node.dtype === 'int64') return Math.abs(Math.round(value * 5)) % 10;
  if (node.name === 'images') return Math.max(0, Math.round(127 + 100 * Math.sin(i / 9) * Math.cos(i / 251) + 20 * value));
  if (/Relu$|MaxPool$|dropout/.test(node.name)) return Math.max(0, value);
  if (node.op_type === 'Square' || node.op_type === 'Sqrt') return Math.abs(value);
  return node.op_type === 'Softmax' ? Math.min(1, Math.abs(value) / 4) : value;
}

function hurt(node: MockNode, out: Float32Array, step: number, random: () => number): void {
  const infinite = node.name === 'loss/Log' && step < BREAK_STEP + 10;
  const share = infinite ? 0.02 : 0.3;
  for (let i = 0; i < out.length; i++) {
    if (random() < share || i === 0) out[i] = infinite ? Number.NEGATIVE_INFINITY : Number.NaN;
  }
}

function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(random() + 1e-12)) * Math.cos(2 * Math.PI * random());
}
