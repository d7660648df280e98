/**
 * HTML templates. Interpolated values are escaped unless they are templates themselves, so that user input never becomes markup.
 * Attributes are always quoted, so a single way of escaping is sufficient.
 */
import { escapeHtml } from './html.ts';

/** Only `html` creates instances, so parsed JSON of the same shape does not pass as markup. */
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

/** Marks text as HTML that other code has escaped, such as a Markdown renderer. Never for user input. */
export function trusted(text: string): Markup {
  return new Markup(text);
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
