/** Assignments of an UPDATE that replaces a whole row, except its key: a distributed table does not allow to assign its tenant. */

/** `values` are expressions in the order of the columns, such as `$1`. Both are lists with commas. */
export function assignments(columns: string, values: string, key: readonly string[]): string {
  const expressions = values.split(',').map((value) => value.trim());
  return namesOf(columns)
    .map((name, index) => ({ name, value: expressions[index] }))
    .filter(({ name }) => !key.includes(name))
    .map(({ name, value }) => `${name} = ${value}`)
    .join(', ');
}

/** Assigns the values of the row that was proposed for insertion. */
export function excludedAssignments(columns: string, key: readonly string[]): string {
  const values = namesOf(columns).map((name) => `excluded.${name}`);
  return assignments(columns, values.join(), key);
}

function namesOf(columns: string): string[] {
  return columns.split(',').map((name) => name.trim());
}
