import { useEffect, useState } from 'preact/hooks';
import { formatCount } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import { isBetween, type Trace } from '../../model/graph/trace';
import type { WorkerEntry } from '../../model/wire/answers';
import { type ComparisonSide, VERDICTS } from '../../model/wire/comparison';
import type { ColourBy, GraphData } from '../../model/wire/graph';
import { workerName } from '../../model/wire/names';
import { differenceItems } from '../../render/colouring';
import { themeOf } from '../../render/theme';
import { comparison, otherGraph, partner, selectedDifference, sideColours } from '../../state/compare/comparison';
import { otherWorkers } from '../../state/compare/other_worker';
import { graph } from '../../state/graph/graph';
import { theme } from '../../state/page/preferences';
import { graphId, runDetail } from '../../state/runs';
import { chooseGraph, selectedNode, selectNode } from '../../state/selection';
import { GraphPane } from '../graph/GraphPane';
import { Swatch } from '../graph/LegendBox';
import { Failure } from '../kit/Message';
import { showDifference } from './CompareTable';
import { Pairing } from './Pairing';

/** The graph of A, coloured by the difference, beside that of B with the partner of the selected node. */
export function CompareGraphs({ both }: { both: boolean }) {
  const [inB, setInB] = useState<string | null>(null);
  const [a, b] = [graph.data.value, otherGraph.data.value];
  const node = selectedNode.value;
  const across = node === null ? null : partner(node);
  useEffect(() => setInB(across), [node, across]);
  useEffect(showFirst, []);
  return (
    <>
      {both && <Pairing inB={inB} choose={setInB} />}
      <Legend />
      <div class="compare-graphs" data-both={both} data-testid="compare-graphs">
        <Side
          name={sideName('A', comparison.data.value?.comparison?.a, runDetail.value?.workers)}
          graph={a}
          colour={sideColours.value.a}
          selected={node}
          onSelect={selectNode}
        />
        {both && otherGraph.error.value !== null && <Failure error={otherGraph.error.value} retry={otherGraph.reload} />}
        {both && otherGraph.error.value === null && (
          <Side
            name={sideName('B', comparison.data.value?.comparison?.b, otherWorkers.value)}
            graph={b}
            colour={sideColours.value.b}
            selected={inB}
            onSelect={setInB}
          />
        )}
      </div>
    </>
  );
}

/** `A: run`, and the worker if the run has several. */
function sideName(name: string, side: ComparisonSide | undefined, workers: readonly WorkerEntry[] = []): string {
  if (!side) return name;
  return `${name}: ${visible(side.run)}${workers.length > 1 ? `, ${visible(workerName(side.worker, workers))}` : ''}`;
}

/** The graphs open at the first divergence, unless a compared tensor is selected; without either, at a compared graph of A. */
function showFirst(): void {
  const result = comparison.data.value?.comparison;
  const shown = selectedDifference.value ?? result?.first?.difference;
  const [found] = result?.graphs ?? [];
  if (shown && !(shown === selectedDifference.value && shown.graph === graphId.value)) showDifference(shown);
  else if (!shown && found && result?.graphs.every((pair) => pair.a !== graphId.value)) chooseGraph(found.a);
}

/** The legend, above both graphs. */
function Legend() {
  const counts = Array<number>(VERDICTS.length + 1).fill(0);
  for (const verdict of sideColours.value.a.verdicts) counts[verdict] = (counts[verdict] ?? 0) + 1;
  return (
    <ul class="compare-legend" aria-label="Legend, with nodes of A" data-testid="compare-legend">
      {differenceItems(themeOf(theme.value), counts).map((item) => (
        <li key={item.label}>
          <Swatch style={item.style} />
          {item.label} <span class="faint num">{formatCount(item.count)}</span>
        </li>
      ))}
    </ul>
  );
}

interface SideProps {
  name: string;
  graph: GraphData | null;
  colour: ColourBy;
  selected: string | null;
  onSelect: (node: string | null) => void;
}

/** One graph, with separate expanded scopes and traces. */
function Side({ name, graph, colour, selected, onSelect }: SideProps) {
  const [ungrouped, setUngrouped] = useState<readonly string[]>([]);
  const [trace, setTrace] = useState<Trace | null>(null);
  const [pathStart, setPathStart] = useState<string | null>(null);
  return (
    <section class="compare-side" aria-label={name}>
      <h3 class="truncate">{name}</h3>
      <div class="compare-side-graph">
        <GraphPane
          graph={graph}
          overlay={null}
          selected={selected}
          colour={colour}
          theme={theme.value}
          subject={[name, graph?.name ?? '']}
          chain={NOTHING}
          legendElsewhere
          ungrouped={ungrouped}
          trace={trace}
          pathStart={pathStart}
          onSelect={(name) => onSelect(name?.endsWith('/') ? null : name)}
          onUngroup={setUngrouped}
          onRetrace={setTrace}
          onTrace={(kind, from) => {
            const path = kind !== null && isBetween(kind);
            const begins = path && (pathStart === null || pathStart === from);
            setPathStart(begins && pathStart === null ? from : null);
            if (kind === null) setTrace(null);
            else if (!begins) setTrace(path ? { kind, from: pathStart ?? '', to: from } : { kind, from, to: '' });
          }}
        />
      </div>
    </section>
  );
}

const NOTHING: readonly number[] = [];
