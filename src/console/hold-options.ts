/** Options of the fields that set how much a gateway call holds. */
import type { Field } from './forms.ts';
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

/** The field of a key, which replaces the setting of its organization. */
export const keyHoldField = {
  name: 'hold',
  label: 'Hold of gateway calls',
  kind: 'select',
  options: [{ value: '', label: 'As set for the organization' }, ...holdOptions],
  whenEmpty: 'null',
} as const satisfies Field;

export const reserveLabel = 'Kept for running calls (seconds)';

/** The field of a key, which replaces the setting of its organization. */
export const keyReserveField = {
  name: 'reserve_for_running',
  label: reserveLabel,
  kind: 'number',
  help: 'Leave blank to use the setting of the organization.',
  whenEmpty: 'null',
} as const satisfies Field;
