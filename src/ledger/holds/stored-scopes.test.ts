/** The text of a scope in the hold log: a process of another release may read it. */
import { expect, test } from 'vitest';
import { holdOf, scopeOf } from '../../../test/support/ledger-values.ts';
import { holdsLine, holdsOfLine } from './hold.ts';

const first = ['key_1', 'm', null, null, 'w', null, null, null, null, null];
const tags = { env: 'prod' };

test.each([
  [{}, []],
  [{ member_id: 'amy' }, ['amy']],
  [{ tags }, [null, tags]],
  [{ member_id: 'amy', tags }, ['amy', tags]],
  [{ project: 'search' }, [null, null, 'search']],
  [{ member_id: 'amy', tags, project: 'search' }, ['amy', tags, 'search']],
])('the scope %j is stored in a fixed order and restored', (fields, rest) => {
  const scope = scopeOf({ workflow: 'w', ...fields });
  const line = holdsLine([holdOf('dec_1', { scope })]);
  expect(JSON.parse(line).scopes).toEqual([[...first, ...rest]]);
  expect(holdsOfLine(line).map((hold) => hold.scope)).toEqual([scope]);
});
