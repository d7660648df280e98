/** Every page of the console. */
import { Refused } from './api.ts';
import { overviewScreens } from './pages/overview.ts';
import { refusalScreens } from './pages/refusals.ts';
import type { Screen } from './screen.ts';

/** For what is none of the others: whoever is signed in stays within the console. */
const noSuchPage: Screen = {
  path: '/console/*',
  audience: 'everyone',
  handler: async () => {
    throw new Refused(404, 'not_found', 'There is no such page.', {});
  },
};

export const screens: readonly Screen[] = [...overviewScreens, ...refusalScreens, noSuchPage];
