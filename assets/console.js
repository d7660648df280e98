/*
 * Makes the pages nicer; none of them needs it. Loaded from a file of our own, because the content security policy allows
 * nothing else.
 */
// @ts-nocheck: it runs in browsers, whose types the rest of the project does not have.

document.documentElement.classList.add('has-script');

/** Copies a secret that is shown once. */
document.addEventListener('click', (event) => {
  const button = event.target.closest?.('[data-copy]');
  if (button === null || button === undefined) {
    return;
  }
  const text = document.getElementById(button.dataset.copy)?.textContent ?? '';
  navigator.clipboard.writeText(text).then(
    () => {
      button.textContent = 'Copied';
    },
    () => {
      button.textContent = 'Select and copy it by hand';
    },
  );
});

/** Shows that something is under way, and keeps an impatient click from sending a form twice. */
document.addEventListener('submit', (event) => {
  const form = event.target;
  // A download leaves the page as it is, and may be wanted again.
  if (form.dataset.download !== undefined) {
    return;
  }
  if (form.dataset.sent === 'true') {
    event.preventDefault();
    return;
  }
  form.dataset.sent = 'true';
  const button = event.submitter;
  // After the form's data were taken, which a disabled button would be missing from.
  setTimeout(() => {
    button?.setAttribute('aria-busy', 'true');
    document.documentElement.classList.add('is-waiting');
  });
});

/** Coming back by the browser's own way, the page is as it was left; it waits for nothing any more. */
window.addEventListener('pageshow', () => {
  document.documentElement.classList.remove('is-waiting');
  for (const form of document.querySelectorAll('form[data-sent]')) {
    delete form.dataset.sent;
  }
  for (const button of document.querySelectorAll('[aria-busy]')) {
    button.removeAttribute('aria-busy');
  }
});

/** One open question at a time; Escape closes it and gives the focus back. */
document.addEventListener(
  'toggle',
  (event) => {
    if (event.target.matches?.('details.confirm[open]')) {
      for (const other of document.querySelectorAll('details.confirm[open]')) {
        if (other !== event.target) {
          other.open = false;
        }
      }
    }
  },
  true,
);
document.addEventListener('keydown', (event) => {
  const open =
    event.key === 'Escape' ? document.querySelector('details.confirm[open], details.account[open]') : null;
  if (open !== null) {
    open.open = false;
    open.querySelector('summary').focus();
  }
});

/** A click elsewhere closes the account menu. */
document.addEventListener('click', (event) => {
  const account = document.querySelector('details.account[open]');
  if (account !== null && !account.contains(event.target)) {
    account.open = false;
  }
});

/** The key / moves the focus to the search box, unless the visitor types. */
document.addEventListener('keydown', (event) => {
  const isTyping = event.target.closest?.('input, textarea, select, [contenteditable]');
  if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    document.querySelector('.search input')?.focus();
  }
});

document.addEventListener('click', (event) => {
  const open = event.target.closest?.('[data-close]')?.closest('details.confirm');
  if (open) {
    event.preventDefault();
    open.open = false;
    open.querySelector('summary').focus();
  }
});

/** On a small screen the menu is a line that is pushed about: it begins where one is. */
document.querySelector('.menu [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });

/** Adds an example to a condition. What is there already is put in parentheses, so that it keeps its meaning. */
document.addEventListener('click', (event) => {
  const button = event.target.closest?.('[data-insert]');
  if (!button) {
    return;
  }
  const field = document.getElementById(button.dataset.into);
  const before = field.value.trim();
  const example = button.dataset.insert;
  field.value = before === '' ? example : `(${before}) && (${example})`;
  field.focus();
});

/** Filters apply as soon as one is chosen. */
document.addEventListener('change', (event) => {
  if (event.target.matches?.('form[data-submit-on-change] select')) {
    event.target.form.requestSubmit();
  }
});

/** A page that shows something under way renews its content, and the way the visitor has opened it. */
function renewLater() {
  const seconds = Number(document.getElementById('main')?.dataset.refresh);
  if (seconds > 0) {
    setTimeout(renew, seconds * 1_000);
  }
}
async function renew() {
  const main = document.getElementById('main');
  // Not under somebody's hands, and not where nobody looks.
  const isBusy = main.contains(document.activeElement) && document.activeElement !== main;
  if (!isBusy && !document.hidden) {
    try {
      const url = new URL(location.href);
      url.searchParams.delete('done');
      const answer = await fetch(url, { headers: { accept: 'text/html' } });
      const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById('main');
      if (fresh !== null) {
        main.replaceWith(fresh);
      }
    } catch {
      // The service is away for a moment; the next time may find it.
    }
  }
  renewLater();
}
renewLater();
