/** The light or dark theme, kept in a cookie so that a page has the right colors from the start. */
import { readCookie } from '../message/cookies.ts';

export const themes = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const cookieName = 'purser_theme';
const yearSeconds = 31_536_000;

export function themeOf(cookieHeader: string | undefined): Theme {
  return themeNamed(readCookie(cookieHeader, cookieName));
}

/** Returns `auto`, the theme of the system, for an unknown name. */
export function themeNamed(name: string | null | undefined): Theme {
  return themes.find((theme) => theme === name) ?? 'auto';
}

/** Returns the header of the cookie. The cookie is valid for all paths, because the pages of single sign-on are not below `/console`. */
export function themeCookie(theme: Theme): string {
  return `${cookieName}=${theme}; Path=/; Max-Age=${yearSeconds}; SameSite=Lax; HttpOnly`;
}
