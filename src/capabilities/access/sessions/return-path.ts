/** The target after a sign-in, which is always a page of the console. */

export const consoleHome = '/console';
const nowhere = 'http://nowhere.invalid';

/** Returns the path with its query. Returns the console's home page if the path leads anywhere else. */
export function returnPath(requested: string | null | undefined): string {
  if (requested == null || !URL.canParse(requested, nowhere)) {
    return consoleHome;
  }
  // Uses the URL parser, because it handles every spelling of another host, and `..`.
  const { origin, pathname, search } = new URL(requested, nowhere);
  const isOurs = origin === nowhere && (pathname === consoleHome || pathname.startsWith(`${consoleHome}/`));
  return isOurs ? pathname + search : consoleHome;
}

/** Returns the path of the sign-in page, which leads back to the requested page. */
export function signInPath(wanted: string): string {
  const path = returnPath(wanted);
  return path === consoleHome ? '/console/login' : `/console/login?return_to=${encodeURIComponent(path)}`;
}
