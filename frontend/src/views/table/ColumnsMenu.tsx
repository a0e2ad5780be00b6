import { TABLE_COLUMNS } from '../../model/run/tensor_table';
import { tableColumns } from '../../state/preferences';
import { IconButton } from '../kit/Button';
import { Popover } from '../kit/Popover';

const OPTIONAL = TABLE_COLUMNS.filter(({ rank }) => rank > 0);

/** Which columns the list has: as many as fit, or the chosen ones, which this browser remembers. */
export function ColumnsMenu() {
  return (
    <Popover
      label="Columns"
      end
      trigger={(open, toggle) => <IconButton small icon="columns" label="Columns" onClick={toggle} pressed={open} testid="table-columns" />}
    >
      {() => (
        <div class="menu columns-menu">
          <label class="menu-row">
            <input type="checkbox" checked={tableColumns.value === null} onChange={toggleFit} />
            As many as fit
          </label>
          {OPTIONAL.map(({ id, label }) => (
            <label class="menu-row" key={id}>
              <input
                type="checkbox"
                checked={tableColumns.value?.includes(id) ?? true}
                onChange={(event) => {
                  const others = (tableColumns.value ?? OPTIONAL.map((column) => column.id)).filter((other) => other !== id);
                  tableColumns.value = event.currentTarget.checked ? [...others, id] : others;
                }}
              />
              {label}
            </label>
          ))}
        </div>
      )}
    </Popover>
  );
}

function toggleFit(): void {
  tableColumns.value = tableColumns.value === null ? OPTIONAL.map(({ id }) => id) : null;
}
