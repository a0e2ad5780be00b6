import { defineConfig } from 'vitest/config';
import { chunkOf } from './vite/chunk_of.ts';
import { inPlace } from './vite/in_place.ts';
import { plotlyCss } from './vite/plotly_css.ts';
import { preloadMount } from './vite/preload_mount.ts';
import { tensorboardEntry } from './vite/tensorboard_entry.ts';
import { viewerPage } from './vite/viewer_page.ts';

// Built beside the folder that servers read, one for each build that is under way, then put there.
const BESIDE = `../server/.static-${process.pid}`;

// The page is served from any prefix and under `script-src 'self'; style-src 'self'; img-src 'self'`:
// relative URLs only, nothing inlined as data:, workers as files of their own.
export default defineConfig({
  base: './',
  plugins: [plotlyCss(), tensorboardEntry(), preloadMount(), viewerPage(), inPlace(BESIDE, '../server/static')],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  worker: { format: 'es' },
  build: {
    outDir: BESIDE,
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    license: { fileName: 'licenses.md' },
    chunkSizeWarningLimit: 1600,
    // The page imports `mount` from main.ts, TensorBoard's plugin.js from an entry of its own, whose exports must survive.
    rolldownOptions: {
      input: { index: 'index.html', app: 'src/mount.tsx' },
      preserveEntrySignatures: 'allow-extension',
      output: { codeSplitting: { groups: [chunkOf('/src/begin.ts', 'begin', 2), chunkOf('/src/mount.tsx', 'app', 1)] } },
    },
  },
  // A busy machine is no failure.
  test: { include: ['src/**/*.test.ts', 'src/**/*.test.tsx', 'vite/**/*.test.ts'], testTimeout: 60_000 },
});
