import { computed } from '@preact/signals';
import { textAt } from '../../model/value/elements';
import type { Snapshot } from '../../model/wire/answers';
import { snapshot } from '../../state/node';
import { api } from '../../state/provider';
import { resource } from '../../state/resource';
import { keyText, snapshotKey } from '../../state/tensors/value';
import { CopyButton } from '../kit/CopyButton';
import { Failure } from '../kit/Message';
import { NothingFinite } from './NothingFinite';
import { ValueExport } from './ValueExport';

const scalar = resource(
  computed(() => {
    const key = snapshotKey.value;
    if (key === null || !snapshot.value?.kept || snapshot.value.shape.length > 0) return null;
    return { key: keyText.value ?? '', subject: `${key.run} ${key.tensor}`, of: key };
  }),
  ({ of }, abort) => api().value(of, '', abort),
);

export function ScalarValue({ row }: { row: Snapshot }) {
  const array = scalar.data.value;
  if (array === null) return scalar.error.value ? <Failure error={scalar.error.value} retry={scalar.reload} /> : null;
  const text = textAt(array, 0, row.dtype);
  return (
    <div class="tab-body fill" data-testid="value">
      <div class="tab-bar">
        <span class="grow" />
        <ValueExport row={row} />
      </div>
      <NothingFinite whole={row} />
      <div class="message">
        <span class="scalar num" data-testid="value-cell" data-index="">
          {text} <CopyButton text={text} label="Copy the value" />
        </span>
        <span class="faint mono">{row.dtype} scalar</span>
      </div>
    </div>
  );
}
