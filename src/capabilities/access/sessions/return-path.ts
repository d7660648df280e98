/** Where a sign-in leads back to: a page of the console, and nothing else. */

export const consoleHome = '/console';
const nowhere = 'http://nowhere.invalid';

/** The path with its query, or the console's first page where it leads anywhere else. */
export function returnPath(asked: string | null | undefined): string {
  if (asked == null || !URL.canParse(asked, nowhere)) {
    return consoleHome;
  }
  // The parser knows every way to spell another host, and what `..` leads to.
  const { origin, pathname, search } = new URL(asked, nowhere);
  const isOurs = origin === nowhere && (pathname === consoleHome || pathname.startsWith(`${consoleHome}/`));
  return isOurs ? pathname + search : consoleHome;
}

/** The sign-in page, from where one comes back to the page that was asked for. */
export function signInPath(wanted: string): string {
  const path = returnPath(wanted);
  return path === consoleHome ? '/console/login' : `/console/login?return_to=${encodeURIComponent(path)}`;
}
