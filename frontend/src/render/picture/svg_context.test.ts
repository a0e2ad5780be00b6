import { describe, expect, test } from 'vitest';
import { escaped, type FontMeasure, SvgContext } from './svg_context';
import { SvgPath } from './svg_path';

/** Letters half as wide as high, a base a third below the middle. */
const FONTS: FontMeasure = {
  width: (text, font) => (text.length * Number(/([\d.]+)px/.exec(font)?.[1])) / 2,
  drop: (font) => Number(/([\d.]+)px/.exec(font)?.[1]) / 3,
};

const decode = (part: Uint8Array): string => new TextDecoder().decode(part);

/** The elements of what is drawn, without the document around them. */
function drawn(draw: (context: SvgContext) => void): string {
  const context = new SvgContext(FONTS);
  draw(context);
  const [, ...parts] = context.finish({ width: 100, height: 50, family: 'Inter', title: 'a picture' });
  return parts.map(decode).join('').replace(/\n/g, '');
}

describe('SvgContext', () => {
  test('the document has a size, a font and a title', () => {
    const [first] = new SvgContext(FONTS).finish({ width: 100.5, height: 50, family: '"Inter", sans', title: '<a> & b' });
    const head = decode(first!);
    expect(head).toContain('width="100.5" height="50" viewBox="0 0 100.5 50"');
    expect(head).toContain('font-family="&quot;Inter&quot;, sans"');
    expect(head).toContain('<title>&lt;a&gt; &amp; b</title>');
  });

  test('boxes that are filled and stroked in one go are elements of one group', () => {
    const svg = drawn((context) => {
      context.beginPath();
      context.roundRect(1, 2, 30, 10, 4);
      context.rect(50, 2, 30, 10);
      context.fillStyle = '#ffffff';
      context.fill();
      context.strokeStyle = '#112233';
      context.lineWidth = 1.25;
      context.stroke();
    });
    expect(svg).toBe(
      '<g fill="#ffffff" stroke="#112233" stroke-width="1.25"><rect x="1" y="2" width="30" height="10" rx="4"/>' +
        '<rect x="50" y="2" width="30" height="10"/></g></svg>',
    );
  });

  test('what is see-through is one path, and its opacity stands beside the colour', () => {
    const svg = drawn((context) => {
      context.beginPath();
      context.rect(0, 0, 4, 4);
      context.rect(2, 2, 4, 4);
      context.fillStyle = '#e3e8f080';
      context.globalAlpha = 0.5;
      context.fill();
      context.globalAlpha = 1;
    });
    expect(svg).toBe('<g fill="#e3e8f0" fill-opacity="0.25"><path d="M0 0h4v4h-4ZM2 2h4v4h-4Z"/></g></svg>');
  });

  test('text is text, on its base line, above a halo that nobody reads or copies', () => {
    const svg = drawn((context) => {
      context.font = '600 12px Inter';
      context.textAlign = 'center';
      context.textBaseline = 'middle';
      context.lineJoin = 'round';
      context.lineWidth = 3;
      context.strokeStyle = '#ffffff';
      context.strokeText('a<b', 10, 20);
      context.fillStyle = '#000000';
      context.fillText('a<b', 10, 20);
    });
    const text = (attributes: string) => `<text x="10" y="24" textLength="18" lengthAdjust="spacingAndGlyphs"${attributes}>a&lt;b</text>`;
    expect(svg).toBe(
      '<g font-size="12" font-weight="600" text-anchor="middle" fill="none" stroke="#ffffff" stroke-width="3" stroke-linejoin="round">' +
        `${text(' aria-hidden="true" style="user-select:none"')}</g>` +
        `<g font-size="12" font-weight="600" text-anchor="middle" fill="#000000">${text('')}</g></svg>`,
    );
  });

  test('cleared is only what the last rectangle covers', () => {
    const svg = drawn((context) => {
      context.clearRect(0, 0, 9, 9);
      context.fillRect(0, 0, 20, 20);
      context.clearRect(5, 5, 2, 2);
      context.fillRect(30, 0, 1, 1);
    });
    expect(svg).toBe(
      '<g fill="#000000"><path fill-rule="evenodd" d="M0 0h20v20h-20ZM5 5h2v2h-2Z"/><rect x="30" y="0" width="1" height="1"/></g></svg>',
    );
  });

  test('lines are dashed, and each is an element', () => {
    const svg = drawn((context) => {
      context.setLineDash([4, 3]);
      context.beginPath();
      context.moveTo(0, 0);
      context.lineTo(5, 5);
      context.moveTo(9, 9);
      context.bezierCurveTo(9, 10, 11, 10, 11, 12);
      context.stroke();
    });
    expect(svg).toContain('<g fill="none" stroke="#000000" stroke-width="1" stroke-dasharray="4 3"><path d="M0 0L5 5"/>');
    expect(svg).toContain('<path d="M9 9C9 10 11 10 11 12"/>');
  });
});

describe('SvgPath', () => {
  const path = (trace: (path: SvgPath) => void) => {
    const traced = new SvgPath();
    trace(traced);
    return traced.shapes.join('');
  };

  test('a corner is rounded on the side to which it turns', () => {
    const corner = (y: number) =>
      path((at) => {
        at.moveTo(0, 0);
        at.arcTo(10, 0, 10, y, 4);
        at.lineTo(10, y);
      });
    expect(corner(10)).toBe('M0 0L6 0A4 4 0 0 1 10 4L10 10');
    expect(corner(-10)).toBe('M0 0L6 0A4 4 0 0 0 10 -4L10 -10');
  });

  test('a blunt corner begins nearer to its point', () => {
    const side = 10 * Math.SQRT1_2;
    const blunt = path((at) => {
      at.moveTo(0, 0);
      at.arcTo(10, 0, 10 + side, side, 4);
    });
    const reach = 4 * Math.tan(Math.PI / 8);
    expect(blunt.startsWith(`M0 0L${(10 - reach).toFixed(2)} 0A`)).toBe(true);
  });

  test('a circle is two halves', () => {
    const circle = path((at) => {
      at.moveTo(13, 10);
      at.arc(10, 10, 3, 0, 2 * Math.PI);
    });
    expect(circle).toBe('M13 10A3 3 0 0 1 7 10A3 3 0 0 1 13 10');
  });

  test('a point alone, and a box without a size, are nothing', () => {
    const nothing = path((at) => {
      at.moveTo(1, 1);
      at.moveTo(2, 2);
      at.rect(0, 0, 0, 5);
    });
    expect(nothing).toBe('');
  });
});

test('names cannot break out of a document, nor hold what it must not', () => {
  expect(escaped('</text><script>&"\u0000\u001b\ud800\ufffe😀')).toBe('&lt;/text&gt;&lt;script&gt;&amp;&quot;😀');
});
