/** Finds e-mail addresses by their `@`, so that text without one needs no further work. */
import { positionsOf, type TextMatch } from './scanning.ts';

const localMax = 64;
const localCharacter = /[\p{L}\p{N}.!#$%&'*+/=?^_`{|}~-]/u;
const domain =
  /(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.){1,8}(\p{L}{2,24}|xn--[a-z0-9-]{2,59})(?![\p{L}\p{N}_]|-[\p{L}\p{N}])/uy;
/** File extensions, as in `logo@2x.png` and `Foo@Bar.class`. None of them is a top-level domain. */
const fileEndings = new Set(
  'png jpg jpeg gif webp svg ico bmp pdf js jsx ts tsx mjs cjs css scss html htm json yaml yml toml xml txt csv log class jar exe dll lock'.split(
    ' ',
  ),
);

export function* findEmails(content: string): Generator<TextMatch | null> {
  for (const at of positionsOf('@', content)) {
    yield at === null ? null : (addressAround(content, at) ?? null);
  }
}

function addressAround(content: string, at: number): TextMatch | undefined {
  let start = at;
  while (start > 0 && at - start < localMax && localCharacter.test(content.charAt(start - 1))) {
    start -= 1;
  }
  // Leaves out quotes, markup and separators around an address.
  while (start < at && /[^\p{L}\p{N}_]/u.test(content.charAt(start))) {
    start += 1;
  }
  if (start === at || content.charAt(at - 1) === '.') {
    return undefined;
  }
  domain.lastIndex = at + 1;
  const found = domain.exec(content);
  if (found === null || fileEndings.has((found[1] ?? '').toLowerCase())) {
    return undefined;
  }
  const end = at + 1 + found[0].length;
  return isUserOfUrl(content, start, end) ? undefined : { start, end };
}

/**
 * Returns true for the user name in a URL, such as `ssh://git@host.example/x`, `https://user:password@host.example/` and
 * `git@host.example:team/x.git`.
 */
function isUserOfUrl(content: string, start: number, end: number): boolean {
  const before = content.slice(Math.max(0, start - 80), start);
  return /:\/\/[^\s/]*$/.test(before) || /^:[\w~.-]+\/|^:\d+\//.test(content.slice(end, end + 80));
}
