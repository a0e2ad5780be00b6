import { useState } from 'preact/hooks';
import { copyText } from '../../lib/download';
import { formatBytes } from '../../lib/text/format';
import { toSelection } from '../../model/value/dims';
import { itemsize } from '../../model/value/elements';
import { numpyExpression } from '../../model/value/export_names';
import type { Snapshot } from '../../model/wire/answers';
import { api } from '../../state/provider';
import { runEntry, runList } from '../../state/runs';
import { mapping, snapshotKey } from '../../state/tensors/value';
import { IconButton } from '../kit/Button';
import { Icon } from '../kit/Icon';
import { Popover } from '../kit/Popover';

/** Exports the value: files of the whole or the selection, and the Python expression that reads it. */
export function ValueExport({ row }: { row: Snapshot }) {
  return (
    <Popover
      label="Export"
      end
      trigger={(open, toggle) => (
        <IconButton small icon="download" label="Download or copy" onClick={toggle} pressed={open} testid="value-export" />
      )}
    >
      {(close) => <ExportMenu row={row} close={close} />}
    </Popover>
  );
}

/** The server's limit for one answer (server/http_api.md). */
const LIMIT = 16 << 20;

function ExportMenu({ row, close }: { row: Snapshot; close: () => void }) {
  const key = snapshotKey.value;
  if (key === null) return null;
  const cut = mapping.value.some((role) => typeof role === 'number');
  const selection = toSelection(mapping.value);
  const bytes = row.size * itemsize(row.dtype);
  const axes = mapping.value.filter((role) => typeof role !== 'number').length;
  const tooLarge = bytes > LIMIT;
  return (
    <div class="menu">
      {tooLarge ? (
        <p class="menu-note">
          The whole value is {formatBytes(bytes)}; the limit of a download is {formatBytes(LIMIT)}. Read it with the expression below.
        </p>
      ) : (
        <Download href={api().valueHref(key, '', 'npy')} label="Whole value, .npy" testid="download-npy" onClick={close} />
      )}
      {cut && (
        <Download
          href={api().valueHref(key, selection, 'npy')}
          label={`Selection [${selection}], .npy`}
          testid="download-npy-selection"
          onClick={close}
        />
      )}
      {axes <= 2 && (cut || !tooLarge) && (
        <Download
          href={api().valueHref(key, selection, 'csv')}
          label={cut ? `Selection [${selection}], CSV` : 'Whole value, CSV'}
          testid="download-csv"
          onClick={close}
        />
      )}
      <CopyExpression row={row} />
    </div>
  );
}

function Download({ href, label, testid, onClick }: { href: string; label: string; testid: string; onClick: () => void }) {
  return (
    <a class="menu-row" href={href} download onClick={onClick} data-testid={testid}>
      <Icon name="download" />
      <span class="truncate">{label}</span>
    </a>
  );
}

function CopyExpression({ row }: { row: Snapshot }) {
  const [copied, setCopied] = useState(false);
  const key = snapshotKey.value;
  if (key === null) return null;
  const logdir = runEntry.value?.logdir ?? runList.value?.logdir ?? 'logs';
  const expression = numpyExpression({ ...key, logdir, run: runEntry.value?.name ?? key.run, step: row.step }, mapping.value);
  return (
    <button
      type="button"
      class="menu-row"
      onClick={async () => setCopied(await copyText(expression))}
      title={expression}
      data-testid="copy-expression"
    >
      <Icon name={copied ? 'check' : 'copy'} />
      <span>{copied ? 'Copied' : 'Copy as NumPy expression'}</span>
    </button>
  );
}
