/** Scopes as options of a form. */
import { scopes } from '../../../contract/scopes.ts';
import type { Option } from '../../forms.ts';

export const everyScope: readonly Option[] = scopes.map((value) => ({ value, label: value }));
/** Scopes whose effects outlast a grant, or that spend money. The API does not grant them to support. */
const neverGranted = ['keys:write', 'org:write', 'webhooks:write', 'connections:write', 'gateway:call'];
export const grantableScopes = everyScope.filter(({ value }) => !neverGranted.includes(value));
