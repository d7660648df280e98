/**
 * HTML as values. Whatever is put into a template is text and is escaped, unless it was made by a template itself; so
 * what a user typed can never become markup. Attributes are always quoted, which is what makes one way of escaping enough.
 */

/** Made by `html` alone: the symbol keeps out what came as JSON and only looks like it. */
const made = Symbol('html');

export interface Html {
  readonly [made]: string;
}

/** Nothing, false and true leave nothing behind, so that a template may say `condition && html…`. */
export type Part = Html | string | number | bigint | boolean | null | undefined | readonly Part[];

export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let text = strings[0] ?? '';
  for (const [index, part] of parts.entries()) {
    text += textOf(part) + (strings[index + 1] ?? '');
  }
  return { [made]: text };
}

export function render(part: Html): string {
  return part[made];
}

function textOf(part: Part): string {
  if (part === null || part === undefined || typeof part === 'boolean') {
    return '';
  }
  if (typeof part === 'object') {
    return made in part ? part[made] : part.map(textOf).join('');
  }
  return escapeText(String(part));
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeText(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? '');
}

/** The address of a page of ours, with its query; parameters without a value are left out. */
export function link(path: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') {
      parameters.set(name, value);
    }
  }
  const text = parameters.toString();
  return text === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${text}`;
}

/** A path with its variable parts encoded: `path\`/console/runs/${id}\``. */
export function path(strings: TemplateStringsArray, ...parts: readonly string[]): string {
  return strings.reduce((text, string, index) => text + encodeURIComponent(parts[index - 1] ?? '') + string);
}
