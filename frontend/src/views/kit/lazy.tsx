import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { Message } from './Message';

/** Parts of the page in separate files: loaded when one of them is first shown, or by `load`. */
export class LazyParts<T extends object> {
  private readonly loaded = signal<T | null>(null);
  private readonly failed = signal(false);

  constructor(private readonly fetch: () => Promise<T>) {}

  readonly load = async (): Promise<void> => {
    try {
      this.loaded.value ??= await this.fetch();
      this.failed.value = false;
    } catch {
      this.failed.value = true;
    }
  };

  /** One of the parts; a progress bar is shown while it loads. */
  part<K extends keyof T>(name: K): ComponentType {
    return () => {
      useEffect(() => void this.load(), []);
      const Part = this.loaded.value?.[name] as ComponentType | undefined;
      if (Part) return <Part />;
      return this.failed.value ? <NotLoaded /> : <div class="busy" role="progressbar" aria-label="Loading" />;
    };
  }
}

/** The server may have been upgraded. */
function NotLoaded() {
  return (
    <Message title="This part of the page could not be loaded" testid="error-state">
      <p>The server was updated, or does not answer.</p>
      <div class="actions">
        <button type="button" class="button primary" onClick={() => location.reload()}>
          Reload
        </button>
      </div>
    </Message>
  );
}
