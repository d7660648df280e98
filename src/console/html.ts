/**
 * HTML templates. Interpolated values are escaped, unless they were made by a template themselves, so that user input never
 * becomes markup. Attributes are always quoted, so that one way of escaping is enough.
 */
import { escapeHtml } from '../platform/http/html/html.ts';

/** Only `html` creates instances: parsed JSON of the same shape is not an instance. */
class Markup {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  get text(): string {
    return this.#text;
  }
}

export type { Markup };

/** Null, undefined and booleans render as nothing, so that templates may use `condition && html…`. */
export type Part = Markup | string | number | bigint | boolean | null | undefined | readonly Part[];

export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  let text = strings[0] ?? '';
  // An index loop is faster than an iterator, and a page has thousands of templates.
  for (let index = 0; index < parts.length; index += 1) {
    text += textOf(parts[index]) + strings[index + 1];
  }
  return new Markup(text);
}

export function render(part: Markup): string {
  return part.text;
}

function textOf(part: Part): string {
  if (part === null || part === undefined || typeof part === 'boolean') {
    return '';
  }
  if (typeof part !== 'object') {
    return escapeHtml(String(part));
  }
  return part instanceof Markup ? part.text : part.reduce<string>((text, one) => text + textOf(one), '');
}

/** A URL path with a query; empty parameters are omitted. */
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
