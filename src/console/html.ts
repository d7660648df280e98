/**
 * HTML as values. Whatever is put into a template is text and is escaped, unless it was made by a template itself; so
 * what a user typed can never become markup. Attributes are always quoted, which is what makes one way of escaping enough.
 */
import { escapeHtml } from '../platform/http/html/html.ts';

/** Made by `html` alone: what came as JSON and only looks like it is no instance. */
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

/** Nothing, false and true leave nothing behind, so that a template may say `condition && html…`. */
export type Part = Markup | string | number | bigint | boolean | null | undefined | readonly Part[];

export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  let text = strings[0] ?? '';
  // Counted rather than iterated: a page is made of some thousand templates.
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
