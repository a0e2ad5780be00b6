import { useRef, useState } from 'preact/hooks';
import { downloadText, fileName } from '../../lib/download';
import { formatCount } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import { matchesFile, parseMatches, tooMany, withoutPair, withPair } from '../../model/run/manual_matches';
import { rowOf } from '../../model/wire/graph';
import { otherGraph, partner } from '../../state/compare/comparison';
import { canUndo, manualPairs, ofTwoWorkers, setPairs, undoPairs } from '../../state/compare/manual_matches';
import { selectedNode, selectNode } from '../../state/selection';

const OFFERED = 200;

/** The node of B paired with the selected node of A, and controls to change it. */
export function Pairing({ inB, choose }: { inB: string | null; choose: (node: string | null) => void }) {
  const node = selectedNode.value;
  const now = node === null ? null : partner(node);
  const pairs = manualPairs.value;
  return (
    <section class="compare-pairing" aria-label="Node pairs" data-testid="pairing">
      {node === null ? (
        <p class="faint">Select a node of A to see its partner in B. Select another node of B to pair them manually.</p>
      ) : (
        <div class="row">
          <code class="truncate">{visible(node)}</code>
          <span class="faint">
            {now === null ? 'has no partner; pair it with' : now === inB ? 'is compared with' : 'will be compared with'}
          </span>
          <OtherNode inB={inB} choose={choose} />
          <button
            type="button"
            class="button small"
            disabled={inB === null || inB === now}
            onClick={() => inB !== null && setPairs(withPair(pairs, node, inB))}
            data-testid="pair"
          >
            Pair
          </button>
        </div>
      )}
      <div class="row">
        <button type="button" class="button small" disabled={!canUndo.value} onClick={undoPairs} data-testid="pair-undo">
          Undo
        </button>
        <Files />
        <span class="faint">
          {tooMany(pairs)
            ? `${formatCount(Object.keys(pairs).length)} manual pairs are too many for the page. Download them and use "tensortap diff --matches".`
            : `Manual pairs are saved in this browser for these two ${ofTwoWorkers.value ? 'workers' : 'runs'}.`}
        </span>
      </div>
      <ul data-testid="pairs">
        {Object.entries(pairs).map(([a, b]) => (
          <li key={a}>
            <button type="button" class="link-name" onClick={() => selectNode(a)}>
              {visible(a)}
            </button>{' '}
            = <code>{visible(b)}</code>{' '}
            <button type="button" class="button quiet small" onClick={() => setPairs(withoutPair(pairs, a))}>
              Unpair
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Selects a node of B by name: typed, or chosen in its graph. */
function OtherNode({ inB, choose }: { inB: string | null; choose: (node: string | null) => void }) {
  const b = otherGraph.data.value;
  const [text, setText] = useState('');
  const names = b === null ? [] : Array.from({ length: b.nodeCount }, (_, row) => b.names.at(row)).filter((name) => name.includes(text));
  return (
    <>
      <input
        class="field small grow"
        list="nodes-of-b"
        aria-label="Node of B"
        placeholder="a node of B"
        value={inB ?? text}
        onInput={(event) => {
          const name = event.currentTarget.value;
          setText(name);
          choose(b !== null && rowOf(b, name) >= 0 ? name : null);
        }}
        data-testid="pair-other"
      />
      <datalist id="nodes-of-b">
        {names.slice(0, OFFERED).map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  );
}

/** Saves and loads the pairs as a file that `tensortap diff --matches` reads. */
function Files() {
  const input = useRef<HTMLInputElement>(null);
  const [wrong, setWrong] = useState('');
  const read = async (file: File | undefined) => {
    try {
      if (file) setPairs(parseMatches(await file.text()));
      setWrong('');
    } catch (error) {
      setWrong(error instanceof Error ? error.message : String(error));
    }
  };
  const none = Object.keys(manualPairs.value).length === 0;
  return (
    <>
      <button
        type="button"
        class="button small"
        disabled={none}
        onClick={() => downloadText(fileName('pairs.json'), matchesFile(manualPairs.value), 'application/json')}
        data-testid="pairs-download"
      >
        Download
      </button>
      <button type="button" class="button small" onClick={() => input.current?.click()}>
        Open a file…
      </button>
      <input
        ref={input}
        type="file"
        accept=".json,application/json"
        class="offscreen"
        tabIndex={-1}
        aria-label="File with pairs"
        onChange={(event) => {
          void read(event.currentTarget.files?.[0]);
          event.currentTarget.value = '';
        }}
        data-testid="pairs-open"
      />
      {wrong !== '' && <span role="alert">{wrong}</span>}
    </>
  );
}
