/** Diagrams of the documentation are drawn from text, and errors in the text are found. */
import { expect, test } from 'vitest';
import { diagram } from '../scripts/diagrams.ts';

const boxes = 'title: Two & one\nbox Key 1 1: who <calls>\nbox Run 2 1: a call\n';

test('boxes and messages have their titles, names and labels, escaped', () => {
  const grid = diagram('grid.txt', `${boxes}Key -> Run: starts\n`);
  for (const text of [
    '<title id="title">Two &amp; one</title>',
    '>Key</text>',
    '>who &lt;calls></text>',
    '>starts</text>',
  ]) {
    expect(grid).toContain(text);
  }
  const time = diagram(
    'time.txt',
    'title: Calls\nactors: You, Purser\nYou -> Purser: ask\npart: Later\nPurser -> Purser: think\n',
  );
  expect(time.match(/>(You|Purser|ask|Later|think)<\/text>/g)).toHaveLength(5);
});

test.each([
  ['box Key 1 1: no title\n', 'does not begin with a title'],
  [`${boxes}Key -> Teapot: starts\n`, 'there is no box Teapot'],
  [`${boxes}Run -> Key: starts\n`, 'must lead to the box on the right or below'],
  [`${boxes}Key starts Run\n`, 'neither a box, a part nor an arrow'],
  ['title: Calls\nactors: You, Purser\nYou -> Teapot: ask\n', 'there is no actor Teapot'],
])('%j is rejected', (text, message) => {
  expect(() => diagram('wrong.txt', text)).toThrow(message);
});
