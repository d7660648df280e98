/** Check of the credentials that the gateway gets from clouds, as the running service sees them. */
import { counted } from '../../platform/counted.ts';
import { type Check, type Finding, ok, skip, warn } from './check.ts';
import type { InspectedDeployment } from './deployment.ts';

export const credentialChecks: readonly Check[] = [{ id: 'credentials', run: checkCredentials }];

async function checkCredentials({ service }: InspectedDeployment): Promise<Finding> {
  const failing = await service?.metric('svc_gateway_credentials_failing');
  if (failing === undefined) {
    return skip('Only a running service gets credentials of clouds.');
  }
  return failing === 0
    ? ok('No renewal of a credential of a cloud fails.')
    : warn(
        `${counted(failing, 'credential of a connection', 'credentials of connections')} cannot be renewed.`,
        'See the last failure of the credentials on the page of each connection in the console.',
      );
}
