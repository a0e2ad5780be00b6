import { batch } from '@preact/signals';
import { counted, formatCount, formatNumber } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import { badText } from '../../model/layers/card_statistics';
import { sizeOf, type TensorPlace } from '../../model/layers/cards';
import { splitScope } from '../../model/wire/names';
import { graph } from '../../state/graph/graph';
import { cardKeyOfLayer } from '../../state/graph/layers';
import {
  layerOfScope,
  MOST_LISTED,
  nameOfScope,
  scopeInGraph,
  scopeTrends,
  scopeWeights,
  scopeWorst,
  selectedScope,
} from '../../state/graph/scope';
import { view } from '../../state/page/choices';
import { selectLayer, selectTensor } from '../../state/selection';
import { IconButton } from '../kit/Button';
import { CopyButton } from '../kit/CopyButton';
import { Sparkline } from '../table/Sparkline';
import {
  beginsWith,
  FactsSection,
  LargestTensor,
  MadeAt,
  nameOf,
  norm,
  Section,
  sparkOf,
  TensorLink,
  WallButton,
  Weights,
} from './LayerPanel';

/** The selected scope of the graph of ops: inputs and outputs, weights with gradients, and the source line. */
export function ScopePanel() {
  const scope = selectedScope.value;
  if (scope === null) return null;
  const { scope: outer, label } = splitScope(nameOfScope.value);
  const layer = layerOfScope.value;
  const key = layer === null ? null : cardKeyOfLayer(layer);
  const path = scopeInGraph.value;
  return (
    <section class="panel" aria-label="Scope" data-testid="scope-panel" data-scope={scope.path}>
      <header class="panel-head">
        <div class="grow">
          <div class="panel-scope truncate" title={scope.path}>
            {visible(outer) || 'scope'}
          </div>
          <h2 class="panel-title">
            <span class="truncate" title={scope.path}>
              {visible(label)}
            </span>
            <CopyButton text={path ?? scope.path} label="Copy the scope's path" />
          </h2>
          <div class="panel-chips">
            <span class="chip">{counted(scope.count, 'node')}</span>
          </div>
        </div>
        <div class="row panel-actions">
          <IconButton small icon="close" label="Close (Esc)" onClick={() => selectTensor(null)} />
        </div>
      </header>
      <div class="panel-body">
        <div class="tab-body">
          <div class="section row layer-actions">
            {key !== null && (
              <button
                type="button"
                class="button small"
                title={visible(layer ?? '')}
                onClick={() =>
                  batch(() => {
                    view.value = 'layers';
                    selectLayer(key);
                  })
                }
                data-testid="scope-layer"
              >
                Show layer
              </button>
            )}
            {path !== null && <WallButton where={`tensor ~ ${beginsWith(path).replace('(/|$)', '/')}`} />}
            <MadeAt />
          </div>
          <Worst />
          <Facts />
          <Places title="Inputs" places={scope.inputs} />
          <Places title="Outputs" places={scope.outputs} />
          <Weights weights={scopeWeights.value} trends={scopeTrends.data.value} />
        </div>
      </div>
    </section>
  );
}

function Worst() {
  const worst = scopeWorst.value;
  if (worst === null) return null;
  if (worst.nan + worst.inf === 0) return <LargestTensor worst={worst} />;
  return (
    <button
      type="button"
      class="panel-alert"
      data-bad={worst.nan > 0 ? 'nan' : 'inf'}
      onClick={() => selectTensor(nameOf(worst))}
      data-testid="scope-worst"
    >
      <b>{badText(worst)}</b>
      <span class="truncate" title={nameOf(worst)}>
        {visible(nameOf(worst))}
      </span>
    </button>
  );
}

const MOST_OPS = 6;

function Facts() {
  const scope = selectedScope.value;
  const shapes = graph.data.value?.shapes;
  if (scope === null || !shapes) return null;
  const trained = scopeWeights.value.filter(({ trainable }) => trainable);
  const parameters = trained.reduce((sum, { row }) => sum + sizeOf(shapes.at(row)), 0);
  const ops = scope.ops.slice(0, MOST_OPS).map(([op, count]) => `${op} ${formatCount(count)}`);
  const rows: (readonly [string, string])[] = [
    ['parameters', parameters > 0 ? formatCount(parameters) : ''],
    ['ops', [...ops, scope.ops.length > MOST_OPS ? '…' : ''].filter(Boolean).join(', ')],
  ];
  return <FactsSection title="Facts" rows={rows} />;
}

/** Tensors with their shapes, their L2 norms at this step, and these over the steps. */
function Places({ title, places }: { title: string; places: readonly TensorPlace[] }) {
  const data = graph.data.value;
  if (places.length === 0 || !data) return null;
  return (
    <Section title={`${title} (${formatNumber(places.length)})`}>
      <table class="layer-weights num" data-testid={`scope-${title.toLowerCase()}`}>
        <thead>
          <tr>
            <th scope="col">tensor</th>
            <th scope="col">shape</th>
            <th scope="col">L2 norm</th>
          </tr>
        </thead>
        <tbody>
          {places.slice(0, MOST_LISTED).map((place) => {
            const trend = scopeTrends.data.value?.get(place.row);
            return (
              <tr key={`${place.row}:${place.slot}`}>
                <th scope="row">
                  <TensorLink place={place}>{visible(splitScope(nameOf(place)).label)}</TensorLink>
                </th>
                <td>{place.slot === 0 ? visible(data.shapes.at(place.row)) : ''}</td>
                <td>
                  {norm(place)} {trend && place.slot === 0 && <Sparkline trend={sparkOf(trend)} name="L2 norm" />}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {places.length > MOST_LISTED && <p class="faint">and {formatCount(places.length - MOST_LISTED)} more</p>}
    </Section>
  );
}
