import { defineConfig } from 'vitest/config';
import { plotlyCss } from './vite/plotly_css.ts';
import { tensorboardEntry } from './vite/tensorboard_entry.ts';

// The page is served from any prefix and under `script-src 'self'; style-src 'self'; img-src 'self'`:
// relative URLs only, nothing inlined as data:, workers as files of their own.
export default defineConfig({
  base: './',
  plugins: [plotlyCss(), tensorboardEntry()],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  worker: { format: 'es' },
  build: {
    outDir: '../server/static',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    license: { fileName: 'licenses.md' },
    chunkSizeWarningLimit: 1600,
    // `mount` is what plugin.js imports, so the entry's exports must survive.
    rolldownOptions: { preserveEntrySignatures: 'strict' },
  },
  test: { include: ['src/**/*.test.ts', 'src/**/*.test.tsx'] },
});
