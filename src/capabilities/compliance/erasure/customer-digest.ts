/** Keyed digest of a customer id, so that stored idempotency keys of a customer can be found when it is erased. */
import type { CustomerDigest } from '../../../platform/http/pipeline/idempotency.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';

export function createCustomerDigest(secrets: Pick<Secrets, 'signer'>): CustomerDigest {
  return (tenantId) => {
    const sign = secrets.signer(`customer ${tenantId}`);
    return (customerId) => sign(customerId).toString('hex');
  };
}
