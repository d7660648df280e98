/** Templates and links of the console. */
export { html, type Markup, type Part, render } from '../platform/http/html/markup.ts';

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
