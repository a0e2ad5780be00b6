import { useEffect, useMemo, useState } from 'preact/hooks';
import { scrollTo, virtualWindow } from '../../lib/virtual_scroll';
import { rowOf } from '../../model/wire/graph';
import { splitScope, tensorName } from '../../model/wire/names';
import type { ComputedStep } from '../../model/wire/replay';
import { graph } from '../../state/graph/graph';
import { shownStep } from '../../state/replay/replay';
import { moveTo } from '../../state/replay/replay_cursor';
import { selectedNode } from '../../state/selection';
import { useSize } from '../kit/hooks';

const ROW = 24;

/** All nodes in topological order, filtered by a text in their names. */
export function NodeList() {
  const { ref, height } = useSize<HTMLDivElement>();
  const [top, setTop] = useState(0);
  const [text, setText] = useState('');
  const shown = shownStep.value;
  const order = shown?.order;
  const places = useMemo(() => {
    const all = [...(order ?? []).keys()];
    const wanted = text.trim().toLowerCase();
    return wanted === '' ? all : all.filter((place) => `${order![place]} ${variableOf(order![place]!)}`.toLowerCase().includes(wanted));
  }, [order, text]);
  const current = selectedNode.value;
  useEffect(() => {
    const row = places.findIndex((place) => order?.[place] === current);
    const element = ref.current;
    if (!element || row < 0 || height === 0) return;
    const [first, last] = [element.scrollTop / ROW, (element.scrollTop + height) / ROW - 1];
    if (row < first || row > last) element.scrollTop = scrollTo(row, height, ROW, places.length);
  }, [current, places, height === 0]);
  useEffect(() => ref.current?.focus(), []);
  if (shown === null) return <div class="stepper-list" />;
  const window = virtualWindow(top, height, ROW, places.length);
  return (
    <>
      <input
        class="field small stepper-filter"
        type="search"
        placeholder="Filter nodes"
        aria-label="Filter nodes"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        data-testid="stepper-filter"
      />
      <div
        class="stepper-list"
        ref={ref}
        tabIndex={0}
        role="listbox"
        aria-label="Nodes in topological order"
        aria-activedescendant={current === null ? undefined : 'stepper-current'}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
        data-testid="stepper-list"
      >
        <div style={{ height: `${window.total}px`, position: 'relative' }}>
          <div style={{ position: 'absolute', top: `${window.offset}px`, left: 0, right: 0 }}>
            {places.slice(window.first, window.last).map((place, i) => (
              <Row key={place} shown={shown} place={place} current={order?.[place] === current} at={window.first + i} of={places.length} />
            ))}
          </div>
        </div>
      </div>
    </>
  );
}

/** The variable whose handle a node passes to a function: TensorFlow names most handles `unknown_7`. */
function variableOf(node: string): string {
  const data = graph.data.value;
  const row = data ? rowOf(data, node) : -1;
  return data && row >= 0 && data.opTypes.at(row) === '_Arg' ? data.variables.at(row) : '';
}

interface RowProps {
  shown: ComputedStep;
  /** Place in the step's order. */
  place: number;
  current: boolean;
  /** Place in the list shown, and how long that is. */
  at: number;
  of: number;
}

function Row({ shown, place, current, at, of }: RowProps) {
  const name = shown.order[place] ?? '';
  const { scope, label } = splitScope(variableOf(name) || name);
  const bad = shown.isBad(name);
  const facts = shown.tensor(tensorName(name, 0));
  return (
    <div
      class="stepper-row"
      role="option"
      id={current ? 'stepper-current' : undefined}
      aria-selected={current}
      aria-posinset={at + 1}
      aria-setsize={of}
      title={name}
      onClick={() => moveTo(place)}
      tabIndex={-1}
      data-changed={shown.changedNodes.has(name)}
      data-testid="stepper-row"
      data-node={name}
    >
      <span class="stepper-label">
        <span class="faint truncate">{scope}</span>
        <span class="truncate">{label}</span>
      </span>
      <span class="grow" />
      {bad && (
        <span class={facts && facts.nan > 0 ? 'stepper-bad nan' : 'stepper-bad inf'} data-origin={shown.isOrigin(name)}>
          {facts && facts.nan > 0 ? 'NaN' : 'Inf'}
          {shown.isOrigin(name) && ' made here'}
        </span>
      )}
    </div>
  );
}
