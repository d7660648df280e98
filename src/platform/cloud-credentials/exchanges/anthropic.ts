/** Workload identity federation of Anthropic: a token of this service is exchanged for one by a federation rule. */

import type { CredentialSource } from '../credential-source.ts';
import { identityToken } from '../identity-token.ts';
import { issuedToken } from '../oauth-token.ts';
import { requestJson } from '../token-requests.ts';

const service = 'Anthropic';
/** The endpoint requires it. */
const betas = 'oauth-2025-04-20,oidc-federation-2026-04-01';

const federation: CredentialSource = {
  required: ['federation_rule_id', 'organization_id'],
  optional: ['service_account_id', 'workspace_id'],
  usesService: () => true,
  targetOf: ({ federation_rule_id }) => federation_rule_id,
  async acquire(request) {
    const { fields, surroundings } = request;
    const requestedAtMs = surroundings.nowMs();
    const answer = await requestJson(surroundings, {
      service,
      url: surroundings.endpoints.anthropic,
      method: 'POST',
      headers: { 'anthropic-beta': betas },
      body: {
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        assertion: await identityToken(request, 'anthropic'),
        federation_rule_id: fields.federation_rule_id,
        organization_id: fields.organization_id,
        service_account_id: fields.service_account_id,
        workspace_id: fields.workspace_id,
      },
    });
    return issuedToken(answer, service, requestedAtMs);
  },
};

export const anthropicSources = { federation } as const satisfies Readonly<Record<string, CredentialSource>>;
