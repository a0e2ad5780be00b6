import { batch } from '@preact/signals';
import { visible } from '../../lib/text/visible_text';
import { type Named, type SentencePiece, sentencePieces } from '../../model/run/sentence_links';
import { rowOf } from '../../model/wire/graph';
import { graph } from '../../state/graph/graph';
import { cardKeyOfLayer, graphLayers } from '../../state/graph/layers';
import { showLine } from '../../state/graph/source';
import { view } from '../../state/page/choices';
import { graphId } from '../../state/runs';
import { goTo, selectLayer } from '../../state/selection';
import { allSteps, goToStep } from '../../state/steps';
import { Prose } from '../kit/Prose';

interface LinkedProseProps {
  text: string;
  /** The subject of the sentence: named tensors are of that graph and step. */
  place?: { readonly graph?: string; readonly step?: number } | undefined;
}

/** A sentence in which tensors, steps, lines of the program and layers are links. */
export function LinkedProse({ text, place = {} }: LinkedProseProps) {
  const pieces = sentencePieces(text, namesOf(place.graph));
  return (
    <>
      {pieces.map((piece, i) =>
        piece.kind === 'text' ? (
          <Prose key={i} text={visible(piece.text)} />
        ) : (
          <button key={i} type="button" class="link inline-link" title={TITLES[piece.kind]} onClick={() => follow(piece, place)}>
            <Prose text={visible(piece.text)} />
          </button>
        ),
      )}
    </>
  );
}

const TITLES = { tensor: 'Open tensor', step: 'Go to this step', line: 'Show the source', layer: 'Show the layer' } as const;

/** Names of another graph are unknown, so anything that looks like a tensor becomes a link. */
function namesOf(id: string | undefined): Named {
  const data = graph.data.value;
  const here = id === undefined || id === graphId.value;
  const layers = new Set((here ? graphLayers.data.value?.layers.cards : undefined)?.map(({ path }) => path));
  return {
    node: (name) => (here ? data !== null && rowOf(data, name) >= 0 : /^[\w.][\w.\\/>-]*\/[\w.\\/>-]+$/.test(name)),
    layer: (path) => path !== '' && layers.has(path),
    step: (step) => allSteps.value.step.includes(step),
  };
}

function follow(piece: Exclude<SentencePiece, { kind: 'text' }>, place: NonNullable<LinkedProseProps['place']>): void {
  if (piece.kind === 'tensor') goTo({ ...place, tensor: piece.tensor });
  else if (piece.kind === 'step') goToStep(piece.step);
  else if (piece.kind === 'line') {
    const cut = piece.place.lastIndexOf(':');
    showLine(piece.place.slice(0, cut), Number(piece.place.slice(cut + 1)));
  } else
    batch(() => {
      view.value = 'layers';
      selectLayer(cardKeyOfLayer(piece.layer));
    });
}
