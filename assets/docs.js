/*
 * Shows search results while a reader types; without it the form leads to the same results. Loaded from a file of our own,
 * because the content security policy allows nothing else.
 */
// @ts-nocheck: it runs in browsers, whose types the rest of the project does not have.

const field = document.getElementById('q');
const main = document.getElementById('main');
const delayMs = 120;
let timer;
/** The content of the page before the first search, to return to. */
let before;
let latest = 0;

async function showResults() {
  const query = field.value.trim();
  latest += 1;
  const mine = latest;
  if (query === '') {
    if (before !== undefined) {
      main.replaceChildren(...before);
      before = undefined;
    }
    return;
  }
  try {
    const answer = await fetch(`/docs/search?q=${encodeURIComponent(query)}`, {
      headers: { accept: 'text/html' },
    });
    const found = new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById('main');
    // A later search, or an emptied field, has replaced this one.
    if (mine === latest && found !== null) {
      before ??= [...main.childNodes];
      main.replaceChildren(...found.childNodes);
    }
  } catch {
    // The service is unavailable: the form still works once it is back.
  }
}

field?.addEventListener('input', () => {
  clearTimeout(timer);
  timer = setTimeout(showResults, delayMs);
});

/** `/` moves the focus to the search field, Escape leaves the search. */
document.addEventListener('keydown', (event) => {
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? '');
  if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    field?.focus();
  } else if (event.key === 'Escape' && document.activeElement === field && before !== undefined) {
    field.value = '';
    showResults();
  }
});

/** An operation of the list on the start page: its anchor leads to its documentation. */
const operation =
  location.pathname === '/docs' && location.hash !== ''
    ? document.getElementById(location.hash.slice(1))
    : null;
const target = operation?.parentElement?.querySelector('a[href^="/docs/api/"]');
if (target) {
  location.replace(target.href);
}
