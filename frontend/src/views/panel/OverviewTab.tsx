import { gradientsOf } from '../../model/graph/neighbours';
import type { TraceKind } from '../../model/graph/trace';
import type { NodeDetail } from '../../model/wire/answers';
import { rowOf } from '../../model/wire/graph';
import { splitScope } from '../../model/wire/names';
import { graph } from '../../state/graph/graph';
import { graphLayers, shownItems } from '../../state/graph/layers';
import { node } from '../../state/graph/node';
import { view } from '../../state/page/choices';
import { pathStart, selectLayer, selectNode, selectTensor, startTrace } from '../../state/selection';
import { sideBySide } from '../../state/tensors/pins';
import { ScopePart } from '../kit/LongName';
import { Prose } from '../kit/Prose';
import { SideBySide } from './SideBySide';
import { SummarySection } from './SummarySection';

/** Overview of a node: its numbers at this step, its connections, its attributes. If enlarged, pinned tensors are beside it. */
export function OverviewTab() {
  const detail = node.data.value;
  if (sideBySide.value) return <SideBySide />;
  return (
    <div class="tab-body">
      <SummarySection />
      {detail && (
        <>
          <Connections detail={detail} />
          <Attributes attributes={detail.attributes} facts={facts(detail)} />
        </>
      )}
    </div>
  );
}

/** Purpose of a node with a cryptic name (FORMAT.md). */
const MEANING = 'tensortap.meaning';

function facts(detail: NonNullable<typeof node.data.value>): [string, string][] {
  const rows: [string, string][] = [
    ['purpose', detail.attributes[MEANING] ?? ''],
    ['function', detail.function],
    ['device', detail.device],
    ['layer', detail.layer],
    ['drawn at', detail.path === detail.name ? '' : detail.path],
    ...detail.calls.map((call): [string, string] => [`calls (${call.role})`, call.function]),
  ];
  return rows.filter(([, value]) => value !== '');
}

function Attributes({ attributes, facts: rows }: { attributes: Record<string, string>; facts: [string, string][] }) {
  const all = [...rows, ...Object.entries(attributes).filter(([name]) => name !== MEANING)];
  if (all.length === 0) return null;
  return (
    <section class="section">
      <h3>Attributes</h3>
      <dl class="facts">
        {all.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class="mono">
              <Prose text={value} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** Inputs and consumers as links. */
function Connections({ detail }: { detail: NodeDetail }) {
  const consumers = detail.outputs.flatMap((output) => output.consumers.map((consumer) => ({ consumer, slot: output.slot })));
  return (
    <>
      {detail.forward && (
        <section class="section">
          <h3>Gradient of</h3>
          <Link name={detail.forward} detail="" onClick={() => selectNode(detail.forward)} />
        </section>
      )}
      <LayerLinks node={detail.name} />
      <TraceButtons node={detail.name} />
      <section class="section" data-testid="inputs">
        <h3>
          Inputs <span class="faint num">{detail.inputs.length}</span>
        </h3>
        {detail.inputs.map((input, i) => (
          // An op may read the same tensor twice, so the position is part of the key.
          <Link
            key={`${i} ${input.tensor}`}
            name={input.tensor}
            detail={`${input.dtype} ${input.shape}`}
            onClick={() => selectTensor(input.tensor)}
          />
        ))}
        {detail.control_inputs.map((name) => (
          <Link key={`^${name}`} name={name} detail="control" onClick={() => selectNode(name)} />
        ))}
        {detail.inputs.length + detail.control_inputs.length === 0 && <p class="faint">None.</p>}
      </section>
      <section class="section" data-testid="consumers">
        <h3>
          Consumers <span class="faint num">{consumers.length}</span>
        </h3>
        <Consumers consumers={consumers} slots={detail.outputs.length} />
      </section>
    </>
  );
}

/** Links from a node to its layer, to the layer's weights with their gradients, and to the gradients of the node itself. */
function LayerLinks({ node }: { node: string }) {
  const found = graphLayers.data.value;
  if (!found || found.graph !== graph.data.value) return null;
  const card = found.layers.cards[found.layers.cardOf[rowOf(found.graph, node)] ?? -1];
  const { names } = found.graph;
  const gradients = gradientsOf(found.graph, node);
  const variable = found.graph.variables.at(rowOf(found.graph, node));
  const weight = card ? undefined : found.layers.cards.flatMap(({ weights }) => weights).find((one) => one.variable === variable);
  if (!card && !weight && gradients.length === 0) return null;
  return (
    <section class="section" data-testid="layer-links">
      {card && (
        <>
          <h3>Layer</h3>
          <Link
            name={card.path || card.title}
            detail={card.className}
            onClick={() => {
              view.value = 'layers';
              selectLayer(shownItems.value.find(({ variants }) => variants.some((cards) => cards.includes(card.id)))?.key ?? null);
            }}
          />
          {card.weights
            .slice(0, MOST)
            .flatMap(({ variable, row, gradients: own }) => [
              <Link key={variable} name={variable} detail="weight" onClick={() => selectNode(names.at(row))} />,
              ...own.map((at) => (
                <Link key={`${variable} ${at}`} name={names.at(at)} detail="its gradient" onClick={() => selectNode(names.at(at))} />
              )),
            ])}
        </>
      )}
      {weight && (
        <>
          <h3>Weight</h3>
          <Link name={weight.variable} detail="weight" onClick={() => selectNode(names.at(weight.row))} />
        </>
      )}
      {gradients.length > 0 && (
        <>
          <h3>Gradients of this node</h3>
          {gradients.map((row) => (
            <Link key={row} name={names.at(row)} detail={found.graph.opTypes.at(row)} onClick={() => selectNode(names.at(row))} />
          ))}
        </>
      )}
    </section>
  );
}

/** Traces of a node: upstream, downstream, paths to another node. */
function TraceButtons({ node }: { node: string }) {
  const start = pathStart.value;
  const show = (kind: TraceKind) => () => {
    view.value = 'graph';
    startTrace(kind, node);
  };
  return (
    <section class="section">
      <h3>Trace</h3>
      <div class="row">
        <button type="button" class="button small" onClick={show('inputs')} title="Trace upstream (I)">
          Upstream
        </button>
        <button type="button" class="button small" onClick={show('outputs')} title="Trace downstream (D)">
          Downstream
        </button>
        <button type="button" class="button small" onClick={show('paths')} title={start ?? 'All paths to another node (B)'}>
          {start === null || start === node ? 'Paths to…' : `Paths from ${splitScope(start).label}`}
        </button>
      </div>
    </section>
  );
}

/** A variable can have thousands of readers; the graph shows all of them. */
const MOST = 60;

function Consumers({ consumers, slots }: { consumers: { consumer: string; slot: number }[]; slots: number }) {
  if (consumers.length === 0) return <p class="faint">No consumers (graph output or unused)</p>;
  return (
    <>
      {consumers.slice(0, MOST).map(({ consumer, slot }) => (
        <Link key={`${slot} ${consumer}`} name={consumer} detail={slots > 1 ? `:${slot}` : ''} onClick={() => selectNode(consumer)} />
      ))}
      {consumers.length > MOST && <p class="faint">and {consumers.length - MOST} more, see the graph</p>}
    </>
  );
}

function Link({ name, detail, onClick }: { name: string; detail: string; onClick: () => void }) {
  const { scope, label } = splitScope(name);
  return (
    <button type="button" class="link-row" onClick={onClick} title={name} data-node={name}>
      <span class="link-name">
        <ScopePart scope={scope} />
        <span class="label-part">{label}</span>
      </span>
      <span class="faint num">{detail}</span>
    </button>
  );
}
