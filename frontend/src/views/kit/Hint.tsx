import { hintPieces } from '../../model/run/hint';
import { goToProposed } from '../../state/proposal';

/** What the server says about a way out; names that it proposes lead there. */
export function Hint({ text }: { text: string }) {
  return (
    <p>
      {hintPieces(text).map((piece, i) =>
        piece.name ? (
          <button key={i} type="button" class="proposed-name" onClick={() => goToProposed(piece.text)}>
            {piece.text}
          </button>
        ) : (
          piece.text
        ),
      )}
    </p>
  );
}
