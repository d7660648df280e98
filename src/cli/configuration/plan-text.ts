/** A plan as text: one line for each resource, and one for each field that changes. */
import type { ConfigurationPlan, PlannedChange } from '../../capabilities/integration/configuration/index.ts';
import { terminalText } from '../terminal-text.ts';

const signs = { create: '+', update: '~', delete: '-' } as const;

/** Maximum length of a value. Longer ones are shortened, because people read the plan. */
const valueLengthMax = 80;

export function planText({ changes, unchanged, not_in_file }: ConfigurationPlan): string {
  const lines = changes.flatMap(changeLines);
  const count = (wanted: PlannedChange['action']) => changes.filter(({ action }) => action === wanted).length;
  const counts = [
    `${count('create')} to create`,
    `${count('update')} to update`,
    `${count('delete')} to delete`,
    `${unchanged} unchanged`,
  ];
  const kept =
    not_in_file.length === 0
      ? []
      : [`${not_in_file.length} not in the file, kept: ${namesOf(not_in_file)}. --prune deletes them.`];
  return [
    ...lines,
    changes.length === 0 ? `No changes (${unchanged} unchanged).` : counts.join(', '),
    ...kept,
  ].join('\n');
}

/** Fields that are part of a resource's title and are not repeated. */
const naming = new Set(['name', 'slug', 'reason', 'url', 'email', 'model', 'customer_id']);

const namesMax = 5;

function namesOf(resources: ConfigurationPlan['not_in_file']): string {
  const names = resources
    .slice(0, namesMax)
    .map(({ section, name }) => (name === '' ? section : `${section} "${terminalText(name)}"`));
  return [...names, ...(resources.length > namesMax ? ['…'] : [])].join(', ');
}

function changeLines({ action, label, name, fields }: PlannedChange): string[] {
  const title = `${signs[action]} ${label}${name === '' ? '' : ` "${terminalText(name)}"`}`;
  if (action === 'create') {
    const shown = fields.filter(({ field }) => !naming.has(field));
    return [[title, ...shown.map(({ field, after }) => `${field}=${shortText(after)}`)].join(' ')];
  }
  return [
    title,
    ...fields.map(
      ({ field, before, after }) => `    ${terminalText(field)}: ${shortText(before)} → ${shortText(after)}`,
    ),
  ];
}

function shortText(value: unknown): string {
  const text = value === null ? 'none' : typeof value === 'string' ? value : JSON.stringify(value);
  const oneLine = terminalText(text.replaceAll(/\s+/g, ' '));
  return oneLine.length <= valueLengthMax ? oneLine : `${oneLine.slice(0, valueLengthMax - 1)}…`;
}
