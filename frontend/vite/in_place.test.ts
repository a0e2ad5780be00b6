import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { putInPlace } from './in_place.ts';

const folder = mkdtempSync(join(tmpdir(), 'in-place-'));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(files: Record<string, string>): void {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
}

test('the folder becomes what was built, with nothing of the old page', () => {
  write({ 'old/index.html': 'old', 'old/assets/a-1.js': '1', 'old/same.svg': 'same', 'old/.built-from': 'x' });
  write({ 'new/index.html': 'new', 'new/plugin.js': 'p', 'new/assets/a-2.js': '2', 'new/same.svg': 'same' });
  putInPlace(join(folder, 'new'), join(folder, 'old'));
  expect(readFileSync(join(folder, 'old/index.html'), 'utf8')).toBe('new');
  expect(readdirSync(join(folder, 'old')).sort()).toEqual(['assets', 'index.html', 'plugin.js', 'same.svg']);
  expect(readdirSync(join(folder, 'old/assets'))).toEqual(['a-2.js']);
});

test('index.html is only replaced when all that it asks for is there', () => {
  write({ 'old/index.html': 'old', 'old/assets/a-1.js': '1', 'new/index.html': 'new', 'new/assets/a-2.js': '2' });
  write({ 'old/assets/b.js/in the way': '' });
  write({ 'new/assets/b.js': 'b' });
  expect(() => putInPlace(join(folder, 'new'), join(folder, 'old'))).toThrow();
  expect(readFileSync(join(folder, 'old/index.html'), 'utf8')).toBe('old');
  expect(readdirSync(join(folder, 'old/assets'))).toContain('a-1.js');
});
