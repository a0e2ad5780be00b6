import type { Rolldown } from 'vite';

/**
 * A group of what a module imports at once, directly or not. The page has one for begin.ts and one for the rest of its start. Without
 * them, what the rest shares with the lazy views is a third chunk, whose exports and imports take 3.7 kB, compressed.
 */
export function chunkOf(entry: string, name: string, priority: number): Rolldown.CodeSplittingGroup {
  const isInside = (id: string, context: Rolldown.ChunkingContext): boolean => {
    const modules = new Set([id]);
    for (const module of modules) for (const importer of context.getModuleInfo(module)?.importers ?? []) modules.add(importer);
    return [...modules].some((module) => module.endsWith(entry));
  };
  return { name: (id, context) => (isInside(id, context) ? name : null), priority };
}
