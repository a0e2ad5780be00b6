import { expect, test } from 'vitest';
import { Lru } from '../lib/lru';
import { prefetchAround } from './resource';

const steps = (offset: number) => (Math.abs(offset) <= 2 ? { key: `step ${offset}` } : null);

test('the nearest steps come first, those that are known are left alone', async () => {
  const [asked, cache] = [[] as string[], new Lru<string, string>(9)];
  cache.set('step -1', 'known');
  const load = async ({ key }: { key: string }) => {
    asked.push(key);
    return key;
  };
  await prefetchAround(5, steps, cache, load, new AbortController().signal);
  expect(asked).toEqual(['step 1', 'step 2', 'step -2']);
  expect(cache.get('step 2')).toBe('step 2');
});

test('it ends when somebody moves on, and at what fails', async () => {
  const [asked, cache, moved] = [[] as string[], new Lru<string, string>(9), new AbortController()];
  const load = async ({ key }: { key: string }) => {
    asked.push(key);
    if (key === 'step 1') moved.abort();
    return key;
  };
  await prefetchAround(2, steps, cache, load, moved.signal);
  expect(asked).toEqual(['step 1']);
  await prefetchAround(2, steps, cache, () => Promise.reject(new Error('gone')), new AbortController().signal);
  expect(cache.get('step 2')).toBeUndefined();
});
