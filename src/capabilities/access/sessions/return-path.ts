/** Target after a sign-in: always a page of the console. */

export const consoleHome = '/console';
const nowhere = 'http://nowhere.invalid';

/** Returns the path with its query, or the console's home page if it leads anywhere else. */
export function returnPath(requested: string | null | undefined): string {
  if (requested == null || !URL.canParse(requested, nowhere)) {
    return consoleHome;
  }
  // The URL parser handles every spelling of another host, and `..`.
  const { origin, pathname, search } = new URL(requested, nowhere);
  const isOurs = origin === nowhere && (pathname === consoleHome || pathname.startsWith(`${consoleHome}/`));
  return isOurs ? pathname + search : consoleHome;
}

/** Returns the sign-in page, which leads back to the requested page. */
export function signInPath(wanted: string): string {
  const path = returnPath(wanted);
  return path === consoleHome ? '/console/login' : `/console/login?return_to=${encodeURIComponent(path)}`;
}
