/** Meaning of the dimensions of a tensor, if its op defines it. */

import { isKernel } from './dims';

const LETTERS: Readonly<Record<string, string>> = { N: 'batch', H: 'height', W: 'width', C: 'channels', D: 'depth' };

/** Ops whose output has the layout of their first input: after a convolution it is still an image. */
const ELEMENTWISE: ReadonlySet<string> = new Set(
  ['AddV2', 'Add', 'Sub', 'Mul', 'RealDiv', 'Relu', 'Relu6', 'LeakyRelu', 'Elu', 'Selu', 'Sigmoid', 'Tanh', 'Softplus', 'Identity'].concat([
    'Cast',
    'SelectV2',
    'Maximum',
    'Minimum',
    'FusedBatchNormV3',
    'BiasAdd',
  ]),
);

/** Names of the dimensions, or null if unknown: a wrong name is worse than none. */
export function axisNames(
  shape: readonly number[],
  op: { readonly op_type: string; readonly layer: string; readonly attributes: Readonly<Record<string, string>>; readonly name: string },
): readonly string[] | null {
  const rank = shape.length;
  const { op_type: type, layer } = op;
  const backward = /(^|\/)gradient(_tape|s)(_\d+)?\//.test(op.name);
  if (type === 'ReadVariableOp' || /^Variable(V2)?$/.test(type)) {
    if (isKernel(shape)) return ['height', 'width', 'in', 'out'];
    return layer !== '' && rank === 2 && /kernel|Mat[Mm]ul/.test(op.name) ? ['in', 'out'] : null;
  }
  const format = /[NHWCD]{3,5}/.exec(op.attributes.data_format ?? '')?.[0];
  const isImage = /^(Conv[23]D|DepthwiseConv2dNative|(Max|Avg)Pool(3D|V2)?|FusedBatchNorm(V[23])?|BiasAdd)$/.test(type);
  if (format?.length === rank && isImage && rank > 2) return [...format].map((letter) => LETTERS[letter] ?? '');
  if (rank === 4 && ELEMENTWISE.has(type) && /conv|pool|batch_?norm/i.test(layer)) return ['batch', 'height', 'width', 'channels'];
  const dense = type === 'MatMul' || type === 'BiasAdd' || type === 'Softmax' || ELEMENTWISE.has(type);
  if (rank === 2 && dense && layer !== '' && !backward) return ['batch', type === 'Softmax' ? 'classes' : 'features'];
  return null;
}
