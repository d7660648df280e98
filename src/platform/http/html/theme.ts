/** The choice between light and dark, kept in a cookie so that a page comes in the right colors at once. */
import { readCookie } from '../message/cookies.ts';

export const themes = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const cookieName = 'purser_theme';
const yearSeconds = 31_536_000;

export function themeOf(cookieHeader: string | undefined): Theme {
  return themeNamed(readCookie(cookieHeader, cookieName));
}

/** As the system has it, where it is none that we know. */
export function themeNamed(name: string | null | undefined): Theme {
  return themes.find((theme) => theme === name) ?? 'auto';
}

/** For all pages: those of single sign-on are not below the console. */
export function themeCookie(theme: Theme): string {
  return `${cookieName}=${theme}; Path=/; Max-Age=${yearSeconds}; SameSite=Lax; HttpOnly`;
}
