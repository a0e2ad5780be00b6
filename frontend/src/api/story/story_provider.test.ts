import { describe, expect, test } from 'vitest';
import { toBase64 } from '../../lib/arrays/bytes';
import { decodeNpy } from '../../lib/arrays/npy';
import { decodeNodeTrends } from '../../model/wire/node_trends';
import { decodeStepHistograms } from '../../model/wire/step_histograms';
import { encodeColumns, encodeNpy } from '../encode';
import { selectNpy } from './select_npy';
import { embeddedStory, packStory, type RecordedAnswer, type StoryFile, storyOfPage, storyPage } from './story_file';
import { StoryProvider } from './story_provider';
import { storyOfTapZip } from './tap_zip';

const RUN = 'runs/digits/a-0123abcd';
const ENCODED = 'runs/digits/a-0123abcd';

function story(...answers: RecordedAnswer[]): StoryFile {
  const about = { written_by: '1', run: 'digits/a-0123abcd', name: 'digits', made: 0, link: '', notes: [], left_out: [] };
  return { format: 'tensortap-story', version: 1, ...about, answers };
}

const base64 = (buffer: ArrayBuffer) => toBase64(new Uint8Array(buffer));

const NPY = encodeNpy('<f4', [2, 3], new Uint8Array(Float32Array.of(0, 1, 2, 3, 4, 5).buffer));

describe('a story answers', () => {
  test('what was recorded, whatever the order of parameters and how many at most', async () => {
    const held = new StoryProvider(
      story({ path: `${RUN}/history`, query: { graph: 'g', tensor: 'x:0' }, json: { columns: { step: [1, 2] } } }),
    );
    expect(await held.json(`${ENCODED}/history`, { tensor: 'x:0', graph: 'g', worker: null, limit: 9 })).toEqual({
      columns: { step: [1, 2] },
    });
    expect(await held.json(`${ENCODED}/history`, { tensor: 'x:0', graph: 'g', steps: '2:' })).toEqual({ columns: { step: [2] } });
  });

  test('an error, never an empty answer, where it holds nothing', async () => {
    const held = new StoryProvider(story());
    await expect(held.json(`${ENCODED}/history`, { tensor: 'y:0' })).rejects.toThrow('does not contain');
    await expect(held.bytes(`${ENCODED}/value`, { tensor: 'y:0' })).rejects.toThrow('does not contain');
    await expect(held.json(`${ENCODED}/findings`)).rejects.toThrow('does not contain');
    await expect(held.post()).rejects.toThrow('cannot run computations');
  });

  test('any slice of a value that it holds', async () => {
    const query = { tensor: 'x:0', step: '3', visit: '0', graph: 'g', format: 'npy' };
    const held = new StoryProvider(story({ path: `${RUN}/value`, query, data: base64(NPY) }));
    const part = decodeNpy(await held.bytes(`${ENCODED}/value`, { ...query, step: 3, visit: 0, selection: '1,0:3:2' }));
    expect([part.shape, [...(part.values as Float32Array)]]).toEqual([[2], [3, 5]]);
    await expect(held.bytes(`${ENCODED}/value`, { ...query, worker: 'w' })).rejects.toThrow('does not contain');
    expect(held.href(`${ENCODED}/value`, query)).toBe(`data:application/octet-stream;base64,${base64(NPY)}`);
  });

  test('the table of a step, filtered and sorted, but no condition', async () => {
    const row = (tensor: string, nan: number, max: number) => ({
      tensor,
      nan,
      pos_inf: 0,
      neg_inf: 0,
      max,
      step: 3,
      graph: 'g',
      trend: {},
    });
    const rows = [row('a:0', 0, 2), row('b:0', 1, Number.NaN), row('c_10:0', 0, 5), row('c_2:0', 0, 7)];
    const query = { graph: 'g', step: '3', sort: 'flow', trend: 'abs_max', limit: '1000', offset: '0' };
    const looked = { graph: 'g', step: '4', tensor: 'a:0', sort: 'flow', limit: '1000' };
    const held = new StoryProvider(
      story(
        { path: `${RUN}/snapshots`, query, json: { total: 4, rows } },
        { path: `${RUN}/snapshots`, query: looked, json: { total: 1, rows } },
      ),
    );
    const names = async (more: object) => {
      const page = (await held.json(`${ENCODED}/snapshots`, { graph: 'g', step: 3, ...more })) as { rows: { tensor: string }[] };
      return page.rows.map(({ tensor }) => tensor);
    };
    expect(await names({ sort: '-max' })).toEqual(['c_2:0', 'c_10:0', 'a:0', 'b:0']);
    expect(await names({ sort: 'tensor', match: '(?i)C_' })).toEqual(['c_2:0', 'c_10:0']);
    expect(await names({ nonfinite: true })).toEqual(['b:0']);
    expect(await names({ sort: 'flow', offset: 1, limit: 2 })).toEqual(['b:0', 'c_10:0']);
    await expect(names({ where: 'nan > 0' })).rejects.toThrow('cannot filter by a condition');
    // One visited tensor is not the table of its step.
    await expect(held.json(`${ENCODED}/snapshots`, { graph: 'g', step: 4 })).rejects.toThrow('does not contain');
  });

  test('histograms of one step and of the only visit', async () => {
    const rows = [3, 4].map((step) => ({ step, counts: [step] }));
    const named = { tensor: 'x:0', graph: 'g' };
    const held = new StoryProvider(
      story(
        { path: `${RUN}/histograms`, query: { ...named, scale: 'symlog', merge: 'visits' }, json: { edges: [0, 1], rows } },
        { path: `${RUN}/history`, query: named, json: { columns: { visit: [0, 0] } } },
      ),
    );
    const ask = (more: object) => held.json(`${ENCODED}/histograms`, { ...named, scale: 'symlog', merge: 'visits', ...more });
    expect(await ask({ steps: 4, visit: 0 })).toEqual({ edges: [0, 1], rows: [{ step: 4, counts: [4] }] });
    await expect(ask({ visit: 1 })).rejects.toThrow('does not contain');
    await expect(ask({ steps: 9 })).rejects.toThrow('does not contain');
  });

  test('small histograms and trends of some tensors', async () => {
    const small = encodeColumns(
      { step: 3, bins: 2 },
      {
        node: Int32Array.of(0, 7),
        slot: Int32Array.of(0, 1),
        low: Float64Array.of(0, 1),
        high: Float64Array.of(1, 2),
        counts: Float64Array.of(1, 2, 3, 4),
      },
    );
    const trends = encodeColumns(
      { statistic: 'std' },
      { node: Int32Array.of(2, 2, 5), step: Float64Array.of(0, 1, 0), value: Float64Array.of(1, 2, 3), health: Uint8Array.of(1, 1, 3) },
    );
    const at = `${RUN}/graphs/g/steps/3/histograms`;
    const held = new StoryProvider(
      story(
        { path: at, query: { tensors: '0:0,7:1,8:0' }, data: base64(small) },
        { path: `${RUN}/graphs/g/trends`, query: { nodes: '2,5', statistic: 'std', places: '96' }, data: base64(trends) },
        { path: `${RUN}/graphs/g/trends`, query: { nodes: '2,5,9', statistic: 'std' }, data: base64(trends) }, // viewed by the author
      ),
    );
    const found = decodeStepHistograms(await held.bytes(at, { tensors: '7:1,8:0' }));
    expect([...found.keys()]).toEqual(['7:1']);
    expect([...found.get('7:1')!.counts]).toEqual([3, 4]);
    const lines = decodeNodeTrends(await held.bytes(`${ENCODED}/graphs/g/trends`, { nodes: '5', statistic: 'std', places: 48 }));
    expect([...lines.keys()]).toEqual([5]);
    expect([...lines.get(5)!.step]).toEqual([0]);
    await expect(held.bytes(`${ENCODED}/graphs/g/trends`, { nodes: '5', statistic: 'max' })).rejects.toThrow('does not contain');
    await expect(held.bytes(at, { tensors: '99:0' })).rejects.toThrow('does not contain');
  });
});

test.each([
  [':,1', [2], [1, 4]],
  ['-1', [3], [3, 4, 5]],
  ['0:1,::2', [1, 2], [0, 2]],
  ['1,2', [], [5]],
])('the selection %s is NumPy’s', (selection, shape, values) => {
  const part = decodeNpy(selectNpy(NPY, selection)!);
  expect([part.shape, [...(part.values as Float32Array)]]).toEqual([shape, values]);
});

test.each(['2', '0,0,0', 'x', '0:2:0'])('the selection %s is none', (selection) => {
  expect(selectNpy(NPY, selection)).toBeNull();
});

describe('a page', () => {
  const VIEWER = '<body><script type="application/octet-stream" id="tensortap-story"></script><script>page()</script></body>';

  test('holds a story of which no tag can get out', async () => {
    const hostile = { ...story(), name: '</script><script>alert(1)</script>' };
    const page = await storyPage(VIEWER, hostile);
    expect(page.match(/<script/g)).toHaveLength(2);
    const data = /id="tensortap-story">([^<]*)</.exec(page)![1]!;
    expect(await embeddedStory(data)).toEqual(hostile);
    expect(await storyOfPage(page)).toEqual(hostile);
    await expect(storyOfPage(VIEWER)).rejects.toThrow('not a story');
    expect(await embeddedStory(' \n')).toBeNull();
  });

  test('that has no place for one, and what is none, are refused', async () => {
    await expect(storyPage('<body></body>', story())).rejects.toThrow('outdated');
    await expect(embeddedStory(btoa('nothing'))).rejects.toThrow('damaged');
    const later = { ...story(), version: 2 };
    await expect(embeddedStory(toBase64(await packStory(later)))).rejects.toThrow('version 2');
  });
});

describe('a .tap.zip', () => {
  test('gives the story in it', async () => {
    const zip = stored([
      ['run/run.json', new TextEncoder().encode('{}')],
      ['viewer/story.json.gz', await packStory(story())],
    ]);
    expect(await storyOfTapZip(zip)).toEqual(story());
    const cut = zip.slice(0, zip.size - 30);
    await expect(storyOfTapZip(cut)).rejects.toThrow('not a .tap.zip');
  });

  test('without one says how to make it', async () => {
    await expect(storyOfTapZip(stored([['run/run.json', new Uint8Array(2)]]))).rejects.toThrow('--viewer');
    await expect(storyOfTapZip(new Blob(['text']))).rejects.toThrow('not a .tap.zip');
  });
});

/** A zip of stored members; checksums are not read here. */
function stored(members: [string, Uint8Array][]): Blob {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const entries: Uint8Array<ArrayBuffer>[] = [];
  let at = 0;
  for (const [name, data] of members) {
    const encoded = new TextEncoder().encode(name);
    const record = (length: number, signature: number, fields: [number, number, 2 | 4][]) => {
      const out = new Uint8Array(length + encoded.length);
      const view = new DataView(out.buffer);
      view.setUint32(0, signature, true);
      for (const [offset, value, width] of fields) width === 2 ? view.setUint16(offset, value, true) : view.setUint32(offset, value, true);
      out.set(encoded, length);
      return out;
    };
    const { length } = data;
    entries.push(
      record(46, 0x02014b50, [
        [20, length, 4],
        [24, length, 4],
        [28, encoded.length, 2],
        [42, at, 4],
      ]),
    );
    const local = record(30, 0x04034b50, [
      [18, length, 4],
      [22, length, 4],
      [26, encoded.length, 2],
    ]);
    parts.push(local, Uint8Array.from(data));
    at += local.length + length;
  }
  const size = entries.reduce((sum, entry) => sum + entry.length, 0);
  const end = new DataView(new ArrayBuffer(22));
  end.setUint32(0, 0x06054b50, true);
  end.setUint32(12, size, true);
  end.setUint32(16, at, true);
  return new Blob([...parts, ...entries, end.buffer]);
}
