/** The scopes as boxes to check. */
import { scopes } from '../../platform/http/access.ts';
import type { Option } from '../forms.ts';

export const everyScope: readonly Option[] = scopes.map((value) => ({ value, label: value }));
/** What lets somebody in for good is never granted to support; the API refuses it. */
export const grantableScopes = everyScope.filter(
  ({ value }) => value !== 'keys:write' && value !== 'org:write',
);
