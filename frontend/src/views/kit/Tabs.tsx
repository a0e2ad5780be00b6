interface TabsProps<T extends string> {
  label: string;
  tabs: readonly { id: T; label: string }[];
  current: T;
  onChange: (tab: T) => void;
}

/** Tabs following the ARIA practices: one tab stop, arrow keys move and select. */
export function Tabs<T extends string>({ label, tabs, current, onChange }: TabsProps<T>) {
  const onKeyDown = (event: KeyboardEvent) => {
    const offset = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (offset === 0) return;
    event.preventDefault();
    event.stopPropagation();
    const at = tabs.findIndex((tab) => tab.id === current);
    const next = (at + offset + tabs.length) % tabs.length;
    onChange((tabs[next] as { id: T }).id);
    (event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('[role=tab]')[next]?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
      {tabs.map((tab) => (
        <button
          type="button"
          role="tab"
          class="tab"
          key={tab.id}
          aria-selected={tab.id === current}
          tabIndex={tab.id === current ? 0 : -1}
          onClick={() => onChange(tab.id)}
          data-testid={`tab-${tab.id}`}
        >
          {tab.label}
        </button>
      ))}
    </div>
  );
}
