import { createHash } from 'node:crypto';
import { build, type Plugin, type Rolldown } from 'vite';
import { plotlyCss } from './plotly_css.ts';

/**
 * Emits `viewer.html`: the page in one file without a server, into which a story is written (src/viewer.tsx). Browsers load neither
 * module scripts nor workers beside a local file, so all code is one inline script, and the worker is created from text.
 */
export function viewerPage(): Plugin {
  return {
    name: 'viewer-page',
    apply: 'build',
    async generateBundle() {
      const [code, style] = await built();
      this.emitFile({ type: 'asset', fileName: 'viewer.html', source: viewerHtml(code, style) });
    },
  };
}

async function built(): Promise<[string, string]> {
  const found = await build({
    configFile: false,
    logLevel: 'warn',
    plugins: [plotlyCss(), inlineWorker()],
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    worker: { format: 'iife' },
    build: {
      write: false,
      target: 'es2022',
      assetsInlineLimit: Number.POSITIVE_INFINITY,
      modulePreload: false,
      cssCodeSplit: false,
      chunkSizeWarningLimit: 4000,
      rolldownOptions: { input: 'src/viewer.tsx', output: { format: 'iife', codeSplitting: false } },
    },
  });
  const { output } = (Array.isArray(found) ? found[0] : found) as Rolldown.RolldownOutput;
  const scripts = output.filter((file) => file.type === 'chunk');
  const styles = output.filter((file) => file.type === 'asset' && file.fileName.endsWith('.css'));
  if (scripts.length !== 1) throw new Error(`the viewer is to be one script, not ${scripts.map(({ fileName }) => fileName).join(', ')}`);
  return [(scripts[0] as Rolldown.OutputChunk).code, styles.map((file) => String((file as Rolldown.OutputAsset).source)).join('\n')];
}

/** The layout's worker as text within the page. */
function inlineWorker(): Plugin {
  return {
    name: 'inline-worker',
    enforce: 'pre',
    resolveId(id, importer) {
      return id.endsWith('/start_worker') && importer ? this.resolve(id.replace(/start_worker$/, 'inline_worker'), importer) : null;
    },
  };
}

/** Only this script and this style may run, and nothing is loaded or sent: whatever a run's names hold. */
export function viewerHtml(code: string, style: string): string {
  // Escapes the text that would end the element; it only occurs in strings and patterns, where this has the same meaning.
  const script = code.replace(/<\/script/gi, '<\\/script').replace(/<!--/g, '\\x3C!--');
  const rules = style.replace(/<\/style/gi, '<\\/style');
  const policy = [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    `style-src '${hashOf(rules)}'`,
    'img-src data: blob:',
    'font-src data:',
    'worker-src blob:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>tensortap</title>
<style>${rules}</style>
</head>
<body>
<div id="app"></div>
<script type="application/octet-stream" id="tensortap-story"></script>
<script>${script}</script>
</body>
</html>
`;
}

const hashOf = (text: string): string => `sha256-${createHash('sha256').update(text).digest('base64')}`;
