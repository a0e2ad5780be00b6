/** Op types that show a node's role in a step, and its significance for a layer. */

import type { GraphData } from '../wire/graph';

export const ASSIGN = /^(?:Ref)?Assign|^Resource(?:Sparse)?(?:Apply|Scatter(?!Nd$))/;

/** Names that TensorFlow gives the backward pass; they decide where the tap recorded nothing. */
export const TAPE = /(?:^|\/)gradient(?:s|_tape)(?:_\d+)?\//;

export const READS = new Set(['ReadVariableOp', 'ResourceGather', 'ResourceGatherNd', 'VariableV2']);

/** Nodes that feed data into a step. */
export const FED = new Set(['IteratorGetNext', 'IteratorGetNextSync', 'OptionalGetValue', 'Placeholder', 'PlaceholderWithDefault']);

/** Their results only depend on shapes: no data flow through them. */
export const SHAPE_OPS = new Set(['Shape', 'ShapeN', 'Size', 'Rank', 'ZerosLike', 'OnesLike', 'BroadcastGradientArgs']);

/** They compute nothing of interest to a reader of the model. */
export const THIN = new Set(
  `Identity Cast Reshape Transpose StridedSlice Squeeze ExpandDims StopGradient ReadVariableOp Const Pack Shape IdentityN NoOp Range Fill
  _Arg GatherV2 Prod PreventGradient BroadcastTo Placeholder CheckNumerics EnsureShape VarHandleOp`.split(/\s+/),
);

/** A container that runs one of these itself is a layer, like an attention with dense layers inside. */
export const HEAVY = new Set(
  `MatMul Einsum BatchMatMulV2 BatchMatMul Softmax Conv2D DepthwiseConv2dNative Conv1D Conv3D While StatelessWhile TensorListStack
  TensorListFromTensor`.split(/\s+/),
);

/**
 * Scopes that TensorFlow and Keras open around single ops, not layers. Those with a capital are named after an op type, or listed here.
 */
const OP_SCOPE =
  /^(?:Tensordot|Conv1D|Gelu|Elu|Relu|Silu|Softmax|Cast|Reshape|Squeeze|Transpose|Pad|Shape|Rank|AddV?2?|Mul|Sub|Pow|Mean|Sum|Max|Min|Maximum|Minimum|Initializer|Read|Assign\w*|batchnorm|moments|einsum|softmax|mul|add|sub|truediv|div|pow|range|matmul|ones|zeros|strided_slice|dropout|cond|while|stack|concat|norm\w*|eye|convolution|separable_conv2d|depthwise|lstm_cell|while_loop)(?:_\d+)?$/;

/** Whether a scope was opened around a single op; names of layers may begin with a capital too, like `Conv1` or `Logits`. */
export function isOpScope(scope: string, opTypes: ReadonlySet<string>): boolean {
  return OP_SCOPE.test(scope) || (/^[A-Z]/.test(scope) && opTypes.has(scope.replace(/_\d+$/, '')));
}

const SYMBOLS: Readonly<Record<string, string>> = {
  AddV2: '+',
  Add: '+',
  AddN: '+',
  Mul: '×',
  Sub: '−',
  ConcatV2: 'concat',
  RealDiv: '÷',
  Abs: '|x|',
  BatchMatMulV2: '@',
  MatMul: '@',
};

export type OpTest = (row: number, set: ReadonlySet<string>) => boolean;

/** Whether a row's op type is in a set: looked up once for each op type, because graphs have many rows. */
export function opTestOf({ opTypes }: GraphData): OpTest {
  const flags = new Map<ReadonlySet<string>, Uint8Array>();
  return (row, set) => {
    let known = flags.get(set);
    if (!known) {
      known = Uint8Array.from(opTypes.values, (op) => (set.has(op) ? 1 : 0));
      flags.set(set, known);
    }
    return known[opTypes.codes[row]!] === 1;
  };
}

/** The most frequent op types of a few, as symbols. */
export function signsOf(ops: ReadonlyMap<string, number>): string {
  const ranked = [...ops].sort((a, b) => b[1] - a[1]).slice(0, 3);
  return [...new Set(ranked.map(([op]) => SYMBOLS[op] ?? op))].join(' ') || 'op';
}

/** The first op type of a layer identifies its class. */
const CLASSES: readonly (readonly [string, string])[] = [
  ['StatelessRandomUniformV2', 'Dropout'],
  ['While', 'RNN'],
  ['CudnnRNNV3', 'RNN'],
  ['TensorListStack', 'RNN'],
  ['Conv2DBackpropInput', 'Conv2DTranspose'],
  ['DepthwiseConv2dNative', 'DepthwiseConv2D'],
  ['Conv2D', 'Conv2D'],
  ['Conv3D', 'Conv3D'],
  ['FusedBatchNormV3', 'BatchNormalization'],
  ['Softmax', 'Softmax'],
  ['Rsqrt', 'Normalization'],
  ['MatMul', 'Dense'],
  ['Einsum', 'EinsumDense'],
  ['ResourceGather', 'Embedding'],
  ['SelectV2', 'Embedding'],
  ['MaxPool', 'MaxPooling2D'],
  ['AvgPool', 'AveragePooling2D'],
  ['ConcatV2', 'Concatenate'],
  ['LeakyRelu', 'LeakyReLU'],
  ['Relu6', 'ReLU'],
  ['Relu', 'ReLU'],
  ['Mean', 'GlobalAveragePooling'],
];

/** Likely class of a layer, if it was not recorded. */
export function guessClass(ops: ReadonlyMap<string, number>): string {
  if (ops.has('Softmax') && (ops.has('Einsum') || ops.has('BatchMatMulV2'))) return 'Attention';
  const known = CLASSES.find(([op]) => ops.has(op));
  return known?.[1] ?? (ops.size > 0 ? signsOf(ops) : 'Reshape');
}
