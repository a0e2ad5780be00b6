import type { DictColumn } from '../../lib/arrays/columns';

/** Family of an op type: it decides the accent colour, and whether a node is drawn small beside its consumer. */

const OP_FAMILIES = [
  'linear',
  'activation',
  'math',
  'reduction',
  'normalisation',
  'shape',
  'state',
  'constant',
  'input',
  'control',
  'random',
  'other',
] as const;
export type OpFamily = (typeof OP_FAMILIES)[number];

const RULES: readonly (readonly [RegExp, OpFamily])[] = [
  [/^(_Arg|_Retval|Placeholder|Iterator|Queue|.*Dataset|DecodeRaw|Parse|.*Recv|.*Send)/, 'input'],
  [/^(Const|HostConst|ZerosLike|OnesLike|Fill|Range|LinSpace)/, 'constant'],
  [
    /(Variable|VarHandle|Assign|ReadVariable|ResourceApply|ResourceGather|ResourceScatter|HashTable|Lookup|BlockGroup|TensorArray|TensorList|Restore|Save)/,
    'state',
  ],
  [/(Random|Stateless|Uniform|Normal$|Dropout|Multinomial)/, 'random'],
  [
    /(While|If$|Case|Switch|Merge|Enter|Exit|NextIteration|LoopCond|PartitionedCall|NoOp|Identity|Assert|Print|StopGradient|PreventGradient|SymbolicGradient|Control|Barrier)/,
    'control',
  ],
  [/(BatchNorm|LayerNorm|LRN|L2Normalize)/, 'normalisation'],
  [/(MatMul|Conv|Einsum|BiasAdd|Attention|Cholesky|Svd|Qr|Triangular)/, 'linear'],
  [/(Relu|Softmax|Sigmoid|Tanh|Elu|Gelu|Selu|Softplus|Erf|CrossEntropy|Mish|Swish)/, 'activation'],
  [/(Sum|Mean|Prod|Max$|Min$|Pool|ArgM|All$|Any$|TopK|Segment|L2Loss|AddN|Accumulate)/, 'reduction'],
  [
    /(Reshape|Transpose|Concat|Split|Slice|Pack|Unpack|Expand|Squeeze|Tile|Pad|Gather|Scatter|Shape|Size|Rank|Broadcast|Cast|OneHot|Reverse|Where|Select|SpaceTo|DepthTo|Bitcast|Invert)/,
    'shape',
  ],
  [
    /(Add|Sub|Mul|Div|Pow|Sqrt|Square|Exp|Log|Neg|Abs|Sign|Floor|Ceil|Round|Rint|Mod|Maximum|Minimum|Greater|Less|Equal|Not|And|Or$|Xor|IsNan|IsInf|IsFinite|Clip|Sin|Cos|Reciprocal|Inv|Cumsum)/,
    'math',
  ],
];

const known = new Map<string, OpFamily>();

export function opFamily(opType: string): OpFamily {
  let family = known.get(opType);
  if (family === undefined) {
    family = RULES.find(([pattern]) => pattern.test(opType))?.[1] ?? 'other';
    known.set(opType, family);
  }
  return family;
}

const AUXILIARY = new Set([
  'Const',
  'HostConst',
  'ReadVariableOp',
  'VarHandleOp',
  'VariableV2',
  'Identity',
  'IdentityN',
  'NoOp',
  '_Arg',
  '_Retval',
  'Placeholder',
  'Shape',
  'StopGradient',
  'PlaceholderWithDefault',
]);

/** Constants, variable reads and the like: part of the graph, but noise at full size. */
export function isAuxiliary(opType: string): boolean {
  return AUXILIARY.has(opType);
}

// Which nodes of a graph are drawn small.

/** 1 for nodes that are drawn small. A plain loop: `Uint8Array.from` with a function takes ten times as long. */
export function smallNodes({ codes, values }: DictColumn): Uint8Array {
  const auxiliary = values.map(isAuxiliary);
  const small = new Uint8Array(codes.length);
  for (let row = 0; row < codes.length; row++) small[row] = auxiliary[codes[row]!] ? 1 : 0;
  return small;
}
