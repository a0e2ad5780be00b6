import { tensorName } from '../../model/wire/names';
import { chosenVisit } from '../../state/choices';
import { node, snapshot, visits } from '../../state/node';
import { selected, selectTensor } from '../../state/selection';
import { Select } from '../kit/Button';

/** Which output slot, and which visit within the step; nothing where there is one of each. */
export function SnapshotPicker() {
  const outputs = node.data.value?.outputs ?? [];
  const current = selected.value;
  if (current === null || (outputs.length < 2 && visits.value.length < 2)) return null;
  return (
    <div class="snapshot-picker">
      {outputs.length > 1 && (
        <Select
          label="Output"
          value={String(current.slot)}
          onChange={(slot) => selectTensor(tensorName(current.node, Number(slot)))}
          testid="slot-picker"
        >
          {outputs.map((output) => (
            <option key={output.slot} value={String(output.slot)}>
              :{output.slot} {output.dtype} {output.shape}
            </option>
          ))}
        </Select>
      )}
      {visits.value.length > 1 && (
        <Select
          label={`Visit (${visits.value.length})`}
          value={String(snapshot.value?.visit ?? 0)}
          onChange={(visit) => {
            chosenVisit.value = Number(visit);
          }}
          testid="visit-picker"
        >
          {visits.value.map((visit) => (
            <option key={visit} value={String(visit)}>
              {visit}
            </option>
          ))}
        </Select>
      )}
    </div>
  );
}
