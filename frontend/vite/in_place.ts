import { copyFileSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Plugin } from 'vite';

/** The first requested file is replaced last: until then the old page is complete, afterwards the new one is. */
const ENTRIES = ['plugin.js', 'index.html'];

/**
 * Lets Vite build beside `target` (into `outDir`) and then moves the files one by one, so that a server that reads them meanwhile always
 * finds a complete page. A failed build changes nothing.
 */
export function inPlace(outDir: string, target: string): Plugin {
  return {
    name: 'in-place',
    apply: 'build',
    writeBundle: { order: 'post', sequential: true, handler: () => putInPlace(outDir, target) },
    closeBundle: () => rmSync(outDir, { recursive: true, force: true }),
  };
}

/** Makes `target` equal to `built`; files in both are always present. */
export function putInPlace(built: string, target: string): void {
  const files = filesBelow(built);
  const rank = (file: string) => ENTRIES.indexOf(file);
  for (const file of files.toSorted((a, b) => rank(a) - rank(b))) replace(join(built, file), join(target, file));
  const wanted = new Set(files);
  for (const file of filesBelow(target)) if (!wanted.has(file)) rmSync(join(target, file), { force: true });
}

function replace(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  const beside = `${to}.${process.pid}.new`;
  copyFileSync(from, beside);
  renameSync(beside, to);
}

/** Their paths, with / whatever the system. */
function filesBelow(folder: string, prefix = ''): string[] {
  mkdirSync(folder, { recursive: true });
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? filesBelow(join(folder, entry.name), `${prefix}${entry.name}/`) : [`${prefix}${entry.name}`],
  );
}
