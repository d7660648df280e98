/** Options of the fields that set how much a gateway call holds. */
import type { Option } from './option-groups.ts';

export const holdLabels = {
  worst_case: 'Highest possible cost',
  expected: 'Expected cost, increased while it streams',
  paced: 'Cost by its duration, increased while it runs',
};

export const holdOptions: readonly Option[] = Object.entries(holdLabels).map(([value, label]) => ({
  value,
  label,
}));

export const holdHelp = 'By its duration suits agents that ask for a high maximum and use little of it.';
