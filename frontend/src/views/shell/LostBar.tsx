import { asked, lost } from '../../state/link_errors';
import { IconButton } from '../kit/Button';

/** Says that the address asks for what is not there, until it is put away or left. */
export function LostBar() {
  const text = lost.value;
  if (text === null) return <div />;
  return (
    <div class="reading" role="status" data-testid="lost">
      <span>{text}</span>
      <span class="grow" />
      <IconButton
        small
        icon="close"
        label="Put this message away"
        onClick={() => {
          asked.value = null;
        }}
      />
    </div>
  );
}
