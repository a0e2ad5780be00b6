/** A small convolutional network with its gradients and Adam updates: the graph of the mock runs. */
export interface MockNode {
  name: string;
  op_type: string;
  inputs: string[];
  shape: number[];
  dtype: string;
  layer: string;
  /** Line of mock/train.py that created the node. */
  line: number;
}

const BATCH = 32;

class Builder {
  readonly nodes: MockNode[] = [];
  private readonly variables: { name: string; shape: number[]; layer: string }[] = [];

  add(name: string, op_type: string, inputs: string[], shape: number[], layer = '', line = 12, dtype = 'float32'): string {
    this.nodes.push({ name, op_type, inputs, shape, dtype, layer, line });
    return `${name}:0`;
  }

  variable(layer: string, scope: string, kind: string, shape: number[]): string {
    this.variables.push({ name: `${layer}/${kind}`, shape, layer });
    const handle = this.add(`${scope}/${kind}/resource`, '_Arg', [], [], layer, 12, 'resource');
    return this.add(`${scope}/${kind}/ReadVariableOp`, 'ReadVariableOp', [handle], shape, layer);
  }

  conv(index: number, input: string, size: number, channels: [number, number]): string {
    const layer = index === 0 ? 'conv2d' : `conv2d_${index}`;
    const scope = `sequential/${layer}`;
    const out = [BATCH, size, size, channels[1]];
    const kernel = this.variable(layer, scope, 'kernel', [3, 3, ...channels]);
    const bias = this.variable(layer, scope, 'bias', [channels[1]]);
    const product = this.add(`${scope}/Conv2D`, 'Conv2D', [input, kernel], out, layer, 9);
    const sum = this.add(`${scope}/BiasAdd`, 'BiasAdd', [product, bias], out, layer, 9);
    const active = this.add(`${scope}/Relu`, 'Relu', [sum], out, layer, 9);
    const pool = `max_pooling2d${index === 0 ? '' : `_${index}`}`;
    return this.add(`sequential/${pool}/MaxPool`, 'MaxPool', [active], [BATCH, size / 2, size / 2, channels[1]], pool, 10);
  }

  dense(index: number, input: string, units: [number, number], activation: string | null): string {
    const layer = index === 0 ? 'dense' : `dense_${index}`;
    const scope = `sequential/${layer}`;
    const kernel = this.variable(layer, scope, 'kernel', units);
    const bias = this.variable(layer, scope, 'bias', [units[1]]);
    const product = this.add(`${scope}/MatMul`, 'MatMul', [input, kernel], [BATCH, units[1]], layer, 14);
    const sum = this.add(`${scope}/Add`, 'AddV2', [product, bias], [BATCH, units[1]], layer, 14);
    return activation ? this.add(`${scope}/${activation}`, activation, [sum], [BATCH, units[1]], layer, 14) : sum;
  }

  gradients(loss: string): void {
    let upstream = this.add('gradient_tape/loss/ones_like', 'OnesLike', [loss], [], '', 22);
    const forward = [...this.nodes].reverse().filter((node) => /Conv2D|BiasAdd|Relu|MaxPool|MatMul|AddV2|Log/.test(node.op_type));
    for (const node of forward) {
      upstream = this.add(
        `gradient_tape/${node.name}Grad`,
        `${node.op_type}Grad`,
        [upstream, `${node.name}:0`],
        node.shape,
        node.layer,
        22,
      );
    }
    for (const [i, variable] of this.variables.entries()) this.adam(variable, i, upstream);
  }

  private adam(variable: { name: string; shape: number[]; layer: string }, i: number, upstream: string): void {
    const scope = `adam/update_${i}`;
    const gradient = this.add(`gradient_tape/${variable.name}/gradient`, 'MatMul', [upstream], variable.shape, variable.layer, 22);
    const square = this.add(`${scope}/Square`, 'Square', [gradient], variable.shape, '', 23);
    const root = this.add(`${scope}/Sqrt`, 'Sqrt', [square], variable.shape, '', 23);
    const ratio = this.add(`${scope}/truediv`, 'RealDiv', [gradient, root], variable.shape, '', 23);
    this.add(`${scope}/AssignSubVariableOp`, 'AssignSubVariableOp', [ratio], [], '', 23, 'resource');
  }
}

export function mockNetwork(): MockNode[] {
  const b = new Builder();
  const image = b.add('images', '_Arg', [], [BATCH, 28, 28, 1], '', 20);
  const labels = b.add('labels', '_Arg', [], [BATCH], '', 20, 'int64');
  const scaled = b.add('sequential/rescaling/mul', 'Mul', [image], [BATCH, 28, 28, 1], 'rescaling', 8);
  const first = b.conv(0, scaled, 28, [1, 16]);
  const second = b.conv(1, first, 14, [16, 32]);
  const flat = b.add('sequential/flatten/Reshape', 'Reshape', [second], [BATCH, 1568], 'flatten', 11);
  const hidden = b.dense(0, flat, [1568, 64], 'Relu');
  const mask = b.add('sequential/dropout/mask', 'GreaterEqual', [hidden], [BATCH, 64], 'dropout', 13, 'bool');
  const dropped = b.add('sequential/dropout/Mul', 'Mul', [hidden, mask], [BATCH, 64], 'dropout', 13);
  const logits = b.dense(1, dropped, [64, 10], 'Softmax');
  const log = b.add('loss/Log', 'Log', [logits], [BATCH, 10], '', 17);
  const picked = b.add('loss/GatherV2', 'GatherV2', [log, labels], [BATCH], '', 17);
  const loss = b.add('loss/Mean', 'Mean', [picked], [], '', 17);
  b.gradients(loss);
  return b.nodes;
}

export const MOCK_FILE = 'mock/train.py';

export const MOCK_SOURCE = `import tensorflow as tf
import tensortap
from tensorflow import keras


model = keras.Sequential([
    keras.Input((28, 28, 1)),
    keras.layers.Rescaling(1 / 255),
    *[keras.layers.Conv2D(n, 3, padding="same", activation="relu") for n in (16, 32)],
    keras.layers.MaxPooling2D(),
    keras.layers.Flatten(),
    keras.layers.Dense(64, activation="relu"),
    keras.layers.Dropout(0.2),
    keras.layers.Dense(10, activation="softmax")])


def loss(labels, p): return -tf.reduce_mean(tf.gather(tf.math.log(p), labels, batch_dims=1))


def train_step(images, labels):
    with tf.GradientTape() as tape: value = loss(labels, model(images))
    gradients = tape.gradient(value, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
`;
