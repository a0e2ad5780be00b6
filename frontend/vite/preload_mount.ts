import type { Plugin } from 'vite';
import { mountEntry } from './tensorboard_entry.ts';

/** Has index.html load the application's code beside the small script that begins its requests, and not after it. */
export function preloadMount(): Plugin {
  return {
    name: 'preload-mount',
    transformIndexHtml: {
      order: 'post',
      handler: (html, { bundle }) => {
        if (!bundle) return [];
        const entry = mountEntry(Object.values(bundle));
        const missing = [entry.fileName, ...entry.imports].filter((name) => !html.includes(name));
        return missing.map((name) => ({
          tag: 'link',
          attrs: { rel: 'modulepreload', crossorigin: true, href: `./${name}` },
          injectTo: 'head',
        }));
      },
    },
  };
}
