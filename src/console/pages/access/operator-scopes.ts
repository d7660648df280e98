import { scopes } from '../../../contract/scopes.ts';
import type { Option } from '../../forms.ts';

export const everyScope: readonly Option[] = scopes.map((value) => ({ value, label: value }));
/** What would outlast a grant is never granted to support; the API refuses it. */
const neverGranted = ['keys:write', 'org:write', 'webhooks:write'];
export const grantableScopes = everyScope.filter(({ value }) => !neverGranted.includes(value));
