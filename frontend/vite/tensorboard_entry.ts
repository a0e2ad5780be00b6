import type { Plugin, Rolldown } from 'vite';

/**
 * Emits `plugin.js`: the ES module that TensorBoard's iframe imports and whose `render()` it calls.
 * It has a fixed name, links the built stylesheets and mounts the same application as `index.html`.
 */
export function tensorboardEntry(): Plugin {
  return {
    name: 'tensorboard-entry',
    // After Vite's own plugins, which emit the stylesheet.
    enforce: 'post',
    generateBundle(_options, bundle) {
      const files = Object.values(bundle);
      const entry = mountEntry(files);
      const styles = files.map((file) => file.fileName).filter((name) => name.endsWith('.css'));
      this.emitFile({ type: 'asset', fileName: 'plugin.js', source: moduleText(entry.fileName, styles) });
    },
  };
}

/** The chunk that mounts the application. */
export function mountEntry(files: readonly (Rolldown.OutputAsset | Rolldown.OutputChunk)[]): Rolldown.OutputChunk {
  const entry = files.find((file) => file.type === 'chunk' && file.isEntry && file.exports.includes('mount'));
  if (entry?.type !== 'chunk') throw new Error('no entry chunk exports `mount`: nothing would show the page');
  return entry;
}

function moduleText(entry: string, styles: string[]): string {
  return `import { mount } from "./${entry}";
const styles = ${JSON.stringify(styles)};
export async function render() {
  await Promise.all(styles.map((name) => new Promise((done) => {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = new URL(name, import.meta.url).href;
    link.onload = link.onerror = done;
    document.head.append(link);
  })));
  const root = document.createElement("div");
  document.body.append(root);
  mount(root);
}
`;
}
