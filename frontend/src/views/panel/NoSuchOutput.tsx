import { counted } from '../../lib/format';
import { splitScope, tensorName } from '../../model/wire/names';
import { node } from '../../state/node';
import { selectTensor } from '../../state/selection';
import { Message } from '../kit/Message';

/** The address asks for an output that the node does not have. */
export function NoSuchOutput({ slot }: { slot: number }) {
  const detail = node.data.value;
  if (detail === null) return null;
  const { name, outputs } = detail;
  const [first] = outputs;
  return (
    <Message title={`${splitScope(name).label} has no output :${slot}`} testid="no-output">
      <p>
        It has {outputs.length === 0 ? 'none' : counted(outputs.length, 'output')}
        {first && `: ${outputs.map((output) => `:${output.slot}`).join(', ')}`}. The address may be of another version of the program.
      </p>
      {first && (
        <div class="actions">
          <button type="button" class="button primary" onClick={() => selectTensor(tensorName(name, first.slot))}>
            Show :{first.slot}
          </button>
        </div>
      )}
    </Message>
  );
}
