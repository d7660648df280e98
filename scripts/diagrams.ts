/**
 * Draws the diagrams of the documentation from text (`docs/diagrams/*.txt`). Two kinds: boxes on a grid with arrows between neighbours, and
 * messages between actors over time. Colours are readable on light and dark pages, and follow the preference of the reader.
 */
import { readdirSync, readFileSync } from 'node:fs';

interface Box {
  readonly name: string;
  readonly column: number;
  readonly row: number;
  readonly note: string;
}

interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly label: string;
}

/** Returns the generated files by path. */
export function diagrams(): Record<string, string> {
  const folder = new URL('../docs/diagrams/', import.meta.url);
  return Object.fromEntries(
    readdirSync(folder)
      .sort()
      .map((file) => [
        `docs/generated/${file.replace(/\.txt$/, '.svg')}`,
        diagram(file, readFileSync(new URL(file, folder), 'utf8')),
      ]),
  );
}

export function diagram(file: string, text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const title = /^title: (.+)$/.exec(lines[0] ?? '')?.[1];
  if (title === undefined) {
    throw new Error(`${file} does not begin with a title.`);
  }
  const actors = /^actors: (.+)$/.exec(lines[1] ?? '')?.[1]?.split(', ');
  return actors === undefined
    ? boxes(file, title, lines.slice(1))
    : sequence(file, title, actors, lines.slice(2));
}

const box = { width: 156, height: 56, gapX: 92, gapY: 58, margin: 12 };

function boxes(file: string, title: string, lines: readonly string[]): string {
  const all: Box[] = [];
  const arrows: Arrow[] = [];
  for (const line of lines) {
    const [, name, column, row, note] = /^box (.+) (\d+) (\d+): (.+)$/.exec(line) ?? [];
    if (name !== undefined && note !== undefined) {
      all.push({ name, column: Number(column) - 1, row: Number(row) - 1, note });
    } else {
      arrows.push(arrowIn(file, line));
    }
  }
  const left = ({ column }: Box) => box.margin + column * (box.width + box.gapX);
  const top = ({ row }: Box) => box.margin + row * (box.height + box.gapY);
  const find = (name: string) => found(file, all, name);
  const shapes = all.map((one) => {
    const centre = left(one) + box.width / 2;
    return [
      `<rect class="box" fill="none" stroke="#767676" x="${left(one)}" y="${top(one)}" width="${box.width}" height="${box.height}" rx="8"/>`,
      label(centre, top(one) + 24, one.name, 'class="name"'),
      label(centre, top(one) + 43, one.note),
    ].join('\n');
  });
  const lineOf = ({ from, to, label: words }: Arrow) => {
    const [a, b] = [find(from), find(to)];
    if (a.row === b.row && b.column === a.column + 1) {
      const [start, end, y] = [left(a) + box.width, left(b), top(a) + box.height / 2];
      return `${arrow(start, y, end, y)}\n${label((start + end) / 2, y - 8, words)}`;
    }
    if (a.column === b.column && b.row === a.row + 1) {
      const [x, start, end] = [left(a) + box.width / 2, top(a) + box.height, top(b)];
      const beside = label(x + 8, (start + end) / 2 + 4, words, 'text-anchor="start"');
      return `${arrow(x, start, x, end)}\n${beside}`;
    }
    throw new Error(`${file}: an arrow must lead to the box on the right or below, unlike ${from} -> ${to}.`);
  };
  const columns = Math.max(...all.map(({ column }) => column)) + 1;
  const rows = Math.max(...all.map(({ row }) => row)) + 1;
  return svg(
    title,
    2 * box.margin + columns * box.width + (columns - 1) * box.gapX,
    2 * box.margin + rows * box.height + (rows - 1) * box.gapY,
    [...shapes, ...arrows.map(lineOf)],
  );
}

const lane = { width: 248, head: 36, step: 44, first: 84, loop: 28 };

function sequence(file: string, title: string, actors: readonly string[], lines: readonly string[]): string {
  const height = lane.first + lines.length * lane.step;
  const width = actors.length * lane.width;
  const middle = (name: string) => {
    const place = actors.indexOf(name);
    if (place === -1) {
      throw new Error(`${file}: there is no actor ${name}.`);
    }
    return (place + 0.5) * lane.width;
  };
  const heads = actors.map((name) => {
    const x = middle(name);
    return [
      `<line class="lane" stroke="#767676" x1="${x}" x2="${x}" y1="${lane.head + 8}" y2="${height - 8}"/>`,
      `<rect class="box" fill="none" stroke="#767676" x="${x - 70}" y="8" width="140" height="${lane.head}" rx="8"/>`,
      label(x, 31, name, 'class="name"'),
    ].join('\n');
  });
  const steps = lines.map((line, index) => {
    const y = lane.first + index * lane.step;
    const part = /^part: (.+)$/.exec(line)?.[1];
    if (part !== undefined) {
      return `<rect class="part" fill="none" stroke="#767676" x="8" y="${y - 16}" width="${width - 16}" height="26" rx="4"/>\n${label(20, y + 2, part, 'class="name" text-anchor="start"')}`;
    }
    const { from, to, label: words } = arrowIn(file, line);
    const [start, end] = [middle(from), middle(to)];
    if (start === end) {
      const path = `M${start} ${y - 12}h${lane.loop}v16h${9 - lane.loop}`;
      return `<path class="arrow" fill="none" stroke="#767676" d="${path}" marker-end="url(#head)"/>\n${label(start + lane.loop + 8, y, words, 'text-anchor="start"')}`;
    }
    return `${arrow(start, y, end, y)}\n${label((start + end) / 2, y - 7, words)}`;
  });
  return svg(title, width, height, [...heads, ...steps]);
}

function arrowIn(file: string, line: string): Arrow {
  const [, from, to, words] = /^(.+) -> (.+?): (.+)$/.exec(line) ?? [];
  if (from === undefined || to === undefined || words === undefined) {
    throw new Error(`${file}: neither a box, a part nor an arrow: ${line}`);
  }
  return { from, to, label: words };
}

function found(file: string, all: readonly Box[], name: string): Box {
  const one = all.find((candidate) => candidate.name === name);
  if (one === undefined) {
    throw new Error(`${file}: there is no box ${name}.`);
  }
  return one;
}

function arrow(x1: number, y1: number, x2: number, y2: number): string {
  // Ends before the target, so that the head of the arrow touches it.
  const [dx, dy] = [Math.sign(x2 - x1) * 9, Math.sign(y2 - y1) * 9];
  return `<line class="arrow" stroke="#767676" x1="${x1}" y1="${y1}" x2="${x2 - dx}" y2="${y2 - dy}" marker-end="url(#head)"/>`;
}

function label(x: number, y: number, words: string, more = ''): string {
  return `<text x="${x}" y="${y}"${more && ` ${more}`}>${escaped(words)}</text>`;
}

function escaped(words: string): string {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

/** The attributes are colours for both kinds of pages; the style improves them where the reader's preference is known. */
function svg(title: string, width: number, height: number, parts: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title" font-family="system-ui, sans-serif" font-size="13" text-anchor="middle" fill="#767676">
<title id="title">${escaped(title)}</title>
<style>
.box { fill: #f3f4f6; stroke: #4b5563 }
.part { fill: #e5e7eb; stroke: none }
.arrow { stroke: #4b5563; fill: none; stroke-width: 1.5 }
.lane { stroke: #9ca3af; stroke-dasharray: 4 4 }
.name { font-weight: 600 }
text { fill: #1f2937 }
.head { fill: #4b5563 }
@media (prefers-color-scheme: dark) {
.box { fill: #1f2937; stroke: #9ca3af }
.part { fill: #374151 }
.arrow { stroke: #9ca3af }
text { fill: #e5e7eb }
.head { fill: #9ca3af }
}
</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="2" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path class="head" d="M0 0l8 4-8 4z"/></marker></defs>
${parts.join('\n')}
</svg>
`;
}
