import { batch } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { formatCount, formatNumber } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import { badText, type CardStatistics, meanText, measureText, NOT_CAPTURED, zerosText } from '../../model/layers/card_statistics';
import type { CardWeight } from '../../model/layers/card_weights';
import type { TensorPlace } from '../../model/layers/cards';
import type { Item } from '../../model/layers/folding';
import { type WorstTensor, worstTensor } from '../../model/layers/scope_facts';
import { NO_FILTER } from '../../model/run/tensor_table';
import { tensorName } from '../../model/wire/names';
import type { NodeTrend } from '../../model/wire/node_trends';
import { NAN_PLACE } from '../../model/wire/node_trends';
import type { SmallHistogram } from '../../model/wire/step_histograms';
import { shapeText } from '../../render/draw/draw_cards';
import { graph, overlay } from '../../state/graph/graph';
import {
  cardHistograms,
  cardsOf,
  graphLayers,
  inputsOf,
  itemStatistics,
  normTrends,
  outputOf,
  outputsOf,
  selectedItem,
  statisticsOf,
  tensorNorm,
  toggleItem,
} from '../../state/graph/layers';
import { madeAt } from '../../state/graph/scope';
import { showLine } from '../../state/graph/source';
import { sourcePlace, tableDisplay, tableFilter, tableRows, view } from '../../state/page/choices';
import { selectLayer, selectTensor } from '../../state/selection';
import { IconButton } from '../kit/Button';
import { CopyButton } from '../kit/CopyButton';
import { opsOf } from '../layers/ops_of';
import { Sparkline } from '../table/Sparkline';

const KIND_TITLES = { layer: 'layer', block: 'block', op: 'operator', input: 'fed to the model', loss: 'of the step' } as const;

/** The selected layer: its facts, its output, its weights with gradients and updates, and links. */
export function LayerPanel({ item }: { item: Item }) {
  const statistics = itemStatistics(item);
  const calls = graphLayers.data.value?.graph.layerCalls ?? [];
  const call = calls.find(({ path }) => path === item.path);
  return (
    <section class="panel" aria-label="Layer" data-testid="layer-panel" data-layer={item.key}>
      <header class="panel-head">
        <div class="grow">
          <div class="panel-scope truncate" title={item.path}>
            {visible(item.path.slice(0, Math.max(0, item.path.lastIndexOf('/')))) || KIND_TITLES[item.kind]}
          </div>
          <h2 class="panel-title">
            <span class="truncate" title={item.path}>
              {visible(item.title)}
            </span>
            {item.path !== '' && <CopyButton text={item.path} label="Copy the layer's path" />}
          </h2>
          <div class="panel-chips">
            {item.className && <span class="chip accent">{visible(item.className)}</span>}
            {item.calls > 1 && <span class="chip">{`call ${item.call + 1} of ${item.calls}`}</span>}
            {item.variants.length > 1 && <span class="chip">{`repeated ${item.variants.length} times`}</span>}
          </div>
        </div>
        <div class="row panel-actions">
          <IconButton small icon="close" label="Close (Esc)" onClick={() => selectLayer(null)} />
        </div>
      </header>
      <div class="panel-body">
        <div class="tab-body">
          <div class="section row layer-actions">
            <button type="button" class="button small" onClick={() => opsOf(item)} data-testid="show-ops">
              Show ops
            </button>
            {item.kind !== 'input' && item.path !== '' && <WallButton where={`layer ~ ${beginsWith(item.path)}`} />}
            {item.kind === 'block' && (
              <button type="button" class="button small" onClick={() => toggleItem(item.toggle, item.inside !== null)}>
                {item.inside ? 'Collapse' : 'Expand'}
              </button>
            )}
            {call?.source && (
              <button
                type="button"
                class="button small"
                onClick={() => {
                  sourcePlace.value = call.source;
                  view.value = 'source';
                }}
                title={call.source}
              >
                Show class
              </button>
            )}
            <MadeAt />
          </div>
          {statistics && <Worst statistics={statistics} />}
          {item.kind !== 'input' && <Largest item={item} />}
          <Facts item={item} config={call?.config ?? ''} />
          <Output item={item} statistics={statistics ?? NOT_CAPTURED} />
          <Weights weights={cardsOf(item).flatMap((card) => card.weights)} trends={normTrends.data.value} />
          <Repetitions item={item} />
          <Neighbours title="Inputs" items={inputsOf(item)} />
          <Neighbours title="Outputs" items={outputsOf(item)} />
        </div>
      </div>
    </section>
  );
}

/** The line that made the selected layer or scope. */
export function MadeAt() {
  const frame = madeAt.data.value;
  if (frame === null) return null;
  return (
    <button type="button" class="link mono" title="Show the source" onClick={() => showLine(frame.file, frame.line)} data-testid="made-at">
      {visible(frame.file.split('/').slice(-2).join('/'))}:{frame.line}
    </button>
  );
}

export function Section({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="section">
      <h3>{title}</h3>
      {children}
    </section>
  );
}

/** Named facts; those without a text are skipped. */
export function FactsSection({ title, rows }: { title: string; rows: readonly (readonly [string, string])[] }) {
  return (
    <Section title={title}>
      <dl class="facts num">
        {rows.map(([name, value]) =>
          value === '' ? null : (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{visible(value)}</dd>
            </div>
          ),
        )}
      </dl>
    </Section>
  );
}

export function nameOf(place: TensorPlace): string {
  const names = graph.data.value?.names;
  return names ? tensorName(names.at(place.row), place.slot) : '';
}

export function TensorLink({ place, children }: { place: TensorPlace; children: ComponentChildren }) {
  const name = nameOf(place);
  return (
    <button type="button" class="link" title={name} onClick={() => selectTensor(name)}>
      {children}
    </button>
  );
}

/** How many NaN or Inf the layer has, and the first tensor with them. */
function Worst({ statistics }: { statistics: CardStatistics }) {
  const { nan, worst } = statistics;
  if (worst === null) return null;
  return (
    <button
      type="button"
      class="panel-alert"
      data-bad={nan > 0 ? 'nan' : 'inf'}
      onClick={() => selectTensor(nameOf(worst))}
      data-testid="layer-worst"
    >
      <b>{badText(statistics)}</b>
      <span class="truncate" title={nameOf(worst)}>
        {visible(nameOf(worst))}
      </span>
    </button>
  );
}

/** The tensor of the layer with the largest magnitude, if all are finite. */
function Largest({ item }: { item: Item }) {
  const found = graphLayers.data.value;
  if (!found || found.graph !== graph.data.value) return null;
  const inside = new Uint8Array(found.graph.nodeCount);
  for (const card of item.variants.flat()) for (const row of found.layers.cards[card]!.rows) inside[row] = 1;
  return <LargestTensor worst={worstTensor(inside, overlay.data.value)} />;
}

export function LargestTensor({ worst }: { worst: WorstTensor | null }) {
  if (worst === null || worst.nan + worst.inf > 0 || worst.absMax < 0) return null;
  return (
    <p class="section num largest-tensor" data-testid="largest-tensor">
      Largest |x| {formatNumber(worst.absMax, 4)}: <TensorLink place={worst}>{visible(nameOf(worst))}</TensorLink>
    </p>
  );
}

/** Shows the histograms of all tensors that match a condition. */
export function WallButton({ where }: { where: string }) {
  const show = () =>
    batch(() => {
      tableFilter.value = { ...NO_FILTER, where };
      tableDisplay.value = 'histograms';
      tableRows.value = 'step';
      view.value = 'table';
    });
  return (
    <button type="button" class="button small" onClick={show} title="Histograms of all its tensors at this step" data-testid="show-wall">
      Histograms
    </button>
  );
}

/** A text of a condition, as a regular expression that begins with a path. */
export const beginsWith = (path: string): string => `'^${path.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll("'", '.')}(/|$)'`;

function Facts({ item, config }: { item: Item; config: string }) {
  const weights = cardsOf(item).flatMap((card) => card.weights);
  const frozen = weights.filter(({ trainable }) => !trainable).length;
  const rows: (readonly [string, string])[] = [
    ['parameters', item.parameters > 0 ? formatCount(item.parameters) : ''],
    ['output shape', shapeText(item, itemStatistics(item))],
    [
      'input shapes',
      inputsOf(item)
        .map((input) => shapeText(input, itemStatistics(input)))
        .filter(Boolean)
        .join(', '),
    ],
    ['config', config],
    ['frozen', frozen > 0 ? `${frozen} of ${weights.length} weights` : ''],
  ];
  return <FactsSection title="Facts" rows={rows} />;
}

function Output({ item, statistics }: { item: Item; statistics: CardStatistics }) {
  const output = outputOf(item);
  const trend = normTrends.data.value?.get(output.row);
  const histogram = cardHistograms.data.value?.get(`${output.row}:${output.slot}`);
  const text = meanText(statistics);
  const zeros = zerosText(statistics);
  return (
    <Section title="Output">
      {histogram && <Histogram histogram={histogram} />}
      <p class="num">
        <TensorLink place={output}>{visible(nameOf(output))}</TensorLink>
      </p>
      {trend && (
        <p class="num faint row">
          L2 norm <Sparkline trend={sparkOf(trend)} name="L2 norm of the output" /> {norm(output)}
        </p>
      )}
      <p class="num faint">{[text, zeros && `${zeros} zeros`].filter(Boolean).join(' · ') || 'Not captured at this step.'}</p>
    </Section>
  );
}

const SIZE = { width: 320, height: 72 };

/** A dominating bin, like the zeros of a ReLU, is clipped so that others are visible. */
function tallest(counts: ArrayLike<number>): number {
  const [first = 0, second = 0] = [...Array.from(counts)].sort((a, b) => b - a);
  return second > 0 && first > 4 * second ? 1.25 * second : first;
}

function Histogram({ histogram: { counts, low, high } }: { histogram: SmallHistogram }) {
  const most = tallest(counts);
  const width = SIZE.width / counts.length;
  const bars = [...counts].map((count, i) => {
    const height = most > 0 ? Math.min(1, count / most) * SIZE.height : 0;
    return `M${i * width} ${SIZE.height}v${-height}h${width - 1}v${height}`;
  });
  const text = `Histogram of the output, ${formatNumber(low, 3)} to ${formatNumber(high, 3)}`;
  return (
    <figure class="layer-histogram">
      <svg viewBox={`0 0 ${SIZE.width} ${SIZE.height}`} role="img" aria-label={text} preserveAspectRatio="none">
        <path d={bars.join('')} />
      </svg>
      <figcaption class="num faint">
        <span>{formatNumber(low, 3)}</span>
        <span>without outliers (at most 1 %)</span>
        <span>{formatNumber(high, 3)}</span>
      </figcaption>
    </figure>
  );
}

/** Weights, each with the norms of its gradient and update, and the gradient over the steps. */
export function Weights({ weights, trends }: { weights: readonly CardWeight[]; trends: ReadonlyMap<number, NodeTrend> | null }) {
  const unique = [...new Map(weights.map((weight) => [weight.variable, weight])).values()];
  if (unique.length === 0) return null;
  return (
    <Section title="Weights and gradients">
      <table class="layer-weights num" data-testid="layer-weights">
        <thead>
          <tr>
            <th scope="col">weight</th>
            <th scope="col">norm</th>
            <th scope="col">gradient</th>
            <th scope="col">update</th>
            <th scope="col">gradient over steps</th>
          </tr>
        </thead>
        <tbody>
          {unique.map((weight) => (
            <WeightRow key={weight.variable} weight={weight} trends={trends} />
          ))}
        </tbody>
      </table>
    </Section>
  );
}

function WeightRow({ weight, trends }: { weight: CardWeight; trends: ReadonlyMap<number, NodeTrend> | null }) {
  const shape = graph.data.value?.shapes.at(weight.row) ?? '';
  const own = { row: weight.row, slot: 0 };
  // Some optimizers change a weight twice, AdamW by its decay first.
  const [gradient, update] = [weight.gradients[0], weight.updates[weight.updates.length - 1]];
  const change = Math.hypot(...weight.updates.map((row) => tensorNorm({ row, slot: 0 })));
  const trend = gradient === undefined ? undefined : trends?.get(gradient);
  return (
    <tr>
      <th scope="row">
        <TensorLink place={own}>{visible(weight.variable.slice(weight.variable.lastIndexOf('/') + 1))}</TensorLink>
        <div class="faint">
          {shape}
          {!weight.trainable && ', frozen'}
        </div>
      </th>
      <td>{norm(own)}</td>
      <td>
        {gradient === undefined ? 'none' : <TensorLink place={{ row: gradient, slot: 0 }}>{norm({ row: gradient, slot: 0 })}</TensorLink>}
      </td>
      <td>{update === undefined ? 'none' : <TensorLink place={{ row: update, slot: 0 }}>{number(change)}</TensorLink>}</td>
      <td>{trend && <Sparkline trend={sparkOf(trend)} name="L2 norm of the gradient" />}</td>
    </tr>
  );
}

export const norm = (place: TensorPlace): string => number(tensorNorm(place));

export function sparkOf({ step, value, health }: NodeTrend) {
  return { step: [...step], value: [...value], bad: [...health].map((state) => state === NAN_PLACE) };
}

/** Each repetition of a repeated block, in numbers. */
function Repetitions({ item }: { item: Item }) {
  if (item.variants.length < 2) return null;
  return (
    <Section title={`Repetitions (${item.variants.length})`}>
      <table class="layer-weights num">
        <thead>
          <tr>
            <th scope="col">layer</th>
            <th scope="col">gradient norm</th>
            <th scope="col">update / weight</th>
            <th scope="col">NaN, Inf</th>
          </tr>
        </thead>
        <tbody>
          {item.variants.slice(0, 100).map((cards, i) => {
            const statistics = statisticsOf(cards);
            return (
              <tr key={cards[0]}>
                <th scope="row">{visible(item.names[i] ?? '')}</th>
                <td>{number(statistics?.gradientNorm)}</td>
                <td>{number(statistics?.updateRatio)}</td>
                <td class={statistics && statistics.nan + statistics.inf > 0 ? 'bad' : ''}>
                  {statistics ? formatCount(statistics.nan + statistics.inf) : '–'}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Section>
  );
}

const number = (value = Number.NaN): string => measureText(value) || '–';

function Neighbours({ title, items }: { title: string; items: readonly Item[] }) {
  if (items.length === 0) return null;
  return (
    <Section title={title}>
      {items.map((item) => (
        <p key={item.key}>
          <button type="button" class="link" onClick={() => selectLayer(item.key)}>
            {visible(item.title)}
          </button>{' '}
          <span class="faint num">{visible(shapeText(item, itemStatistics(item)))}</span>
        </p>
      ))}
    </Section>
  );
}

/** The panel of the selection in the layer view; null without one. */
export function SelectedLayer() {
  const item = selectedItem.value;
  return item && <LayerPanel item={item} />;
}
