/** Code to copy, with an API key filled in. */
import { decisionSnippets, reportingSnippets } from '../contract/decision-clients.ts';
import { type ClientSnippet, clientSnippets } from '../contract/gateway-clients.ts';
import { card } from './components.ts';
import { html, type Markup, type Part } from './html.ts';

/** Example code for a key with these scopes: calls through the gateway, decisions for another gateway, or reports of spend. */
export function quickStarts(
  scopes: readonly string[],
  { url, key, orgId }: { readonly url: string; readonly key: string; readonly orgId: string },
): Part {
  const has = (scope: string) => scopes.includes(scope);
  return [
    has('gateway:call') &&
      snippetFolds('Call models through the gateway', 'gateway', clientSnippets(url, key)),
    has('edge:decide') &&
      has('runs:write') &&
      snippetFolds('Guard calls of your own gateway', 'decision', decisionSnippets(url, key)),
    has('runs:read') && snippetFolds('Read spend', 'report', reportingSnippets(url, key, orgId)),
  ];
}

/** Snippets as a list to unfold; the first one is open. */
function snippetFolds(title: string, name: string, snippets: readonly ClientSnippet[]): Markup {
  return card(
    title,
    snippets.map(
      (snippet, index) =>
        html`<details class="fold"${index === 0 && html` open`}><summary>${snippet.title}</summary>${snippetBody(snippet, `${name}-${index}`)}</details>`,
    ),
  );
}

/** A note and the code, with a copy button. */
export function snippetBody({ title, note, text }: ClientSnippet, id: string): Markup {
  return html`${note !== undefined && html`<p class="sub">${note}</p>`}
<pre class="snippet" id="${id}" tabindex="0" role="group" aria-label="${title}">${text}</pre>
<p class="snippet-copy"><button class="button needs-script" type="button" data-copy="${id}">Copy<span class="hidden"> ${title}</span></button></p>`;
}
