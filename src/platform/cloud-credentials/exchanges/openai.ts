/** Workload identity federation of OpenAI: a token of this service is exchanged for one of a service account. */

import type { CredentialSource } from '../credential-source.ts';
import { identityToken } from '../identity-token.ts';
import { requestJson, textIn } from '../token-requests.ts';

const service = 'OpenAI';
const defaultSeconds = 3_600;

const federation: CredentialSource = {
  required: ['identity_provider_id', 'service_account_id'],
  optional: [],
  usesService: () => true,
  targetOf: ({ service_account_id }) => service_account_id,
  async acquire(request) {
    const { fields, surroundings } = request;
    const requestedAtMs = surroundings.nowMs();
    const answer = await requestJson(surroundings, {
      service,
      url: surroundings.endpoints.openai,
      method: 'POST',
      body: {
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token: await identityToken(request, 'openai'),
        subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
        identity_provider_id: fields.identity_provider_id,
        service_account_id: fields.service_account_id,
      },
    });
    const seconds = Number(answer.expires_in ?? defaultSeconds);
    return {
      credential: { type: 'bearer', token: textIn(answer, 'access_token', service) },
      expiresAtMs: requestedAtMs + seconds * 1_000,
    };
  },
};

export const openAiSources = { federation } as const satisfies Readonly<Record<string, CredentialSource>>;
