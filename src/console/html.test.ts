import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { seedsOf } from '../../test/support/seeds.ts';
import { html, link, path, render } from './html.ts';

const { forAll } = seedsOf('html');

describe('a value in a template', () => {
  test.each([
    ['<script>alert(1)</script>', '&lt;script&gt;alert(1)&lt;/script&gt;'],
    ['" onmouseover="x', '&quot; onmouseover=&quot;x'],
    ["' onmouseover='x", '&#39; onmouseover=&#39;x'],
    ['&amp;', '&amp;amp;'],
  ])('a value in a template is escaped: %s', (text, escaped) => {
    expect(render(html`<p title="${text}">${text}</p>`)).toBe(`<p title="${escaped}">${escaped}</p>`);
  });

  test('never contains a character that starts or ends markup', () => {
    forAll(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(render(html`${text}`)).not.toMatch(/[<>"']/);
      }),
    );
  });

  test('a value in a template is kept as markup if a template made it, also in lists', () => {
    const items = ['a', '<b>'].map((item) => html`<li>${item}</li>`);
    expect(render(html`<ul>${items}</ul>`)).toBe('<ul><li>a</li><li>&lt;b&gt;</li></ul>');
  });

  test('renders as nothing if it is empty, and as zero if it is zero', () => {
    expect(render(html`${null}${undefined}${false}${true}${0}${''}${[]}`)).toBe('0');
  });

  test('a value in a template is escaped if it is a parsed object that looks like markup', () => {
    const pretender = JSON.parse('{"text": "<script>", "html": "<script>", "Symbol(html)": "<script>"}');
    expect(() => render(html`${pretender}`)).toThrow();
  });
});

describe('paths', () => {
  test('encode their variable parts', () => {
    expect(path`/console/runs/${'../keys?x=1#y'}/a`).toBe('/console/runs/..%2Fkeys%3Fx%3D1%23y/a');
  });

  test('omit parameters without a value', () => {
    expect(link('/console/runs', { model: 'a b&c', status: undefined, team: '' })).toBe(
      '/console/runs?model=a+b%26c',
    );
  });
});
