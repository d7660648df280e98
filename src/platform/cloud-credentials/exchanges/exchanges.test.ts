/** The federations of OpenAI and Anthropic against stand-ins of their token endpoints. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  acquired,
  startTokenServices,
  surroundingsAt,
  type TokenServices,
} from '../../../../test/support/token-services.ts';
import { anthropicSources } from './anthropic.ts';
import { openAiSources } from './openai.ts';

let services: TokenServices;
beforeAll(async () => {
  services = await startTokenServices();
});
afterAll(() => services.close());

const nowMs = () => 1_700_000_000_000;
const answer = { body: { access_token: 'issued-token', expires_in: 600 } };
const issued = { credential: { type: 'bearer', token: 'issued-token' }, expiresAtMs: nowMs() + 600_000 };
const sent = () => JSON.parse(services.received.at(-1)?.body ?? '');
const surroundings = () =>
  surroundingsAt(services, {
    tokenFiles: { openai: '/tokens/openai', anthropic: '/tokens/anthropic' },
    files: { '/tokens/openai': 'oidc.openai', '/tokens/anthropic': 'oidc.anthropic' },
    nowMs,
  });

test('OpenAI: the token for it is exchanged for one of a service account', async () => {
  services.answers.set('POST /openai', answer);
  const fields = { identity_provider_id: 'idp_1', service_account_id: 'sa_1' };
  expect(await acquired(openAiSources.federation, surroundings(), fields)).toEqual(issued);
  expect(sent()).toEqual({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: 'oidc.openai',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    identity_provider_id: 'idp_1',
    service_account_id: 'sa_1',
  });
});

test('Anthropic: the token for it is exchanged by a federation rule', async () => {
  services.answers.set('POST /anthropic', answer);
  const fields = { federation_rule_id: 'fdrl_1', organization_id: 'org-a', workspace_id: 'wrkspc_1' };
  expect(await acquired(anthropicSources.federation, surroundings(), fields)).toEqual(issued);
  expect(sent()).toEqual({
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    assertion: 'oidc.anthropic',
    federation_rule_id: 'fdrl_1',
    organization_id: 'org-a',
    workspace_id: 'wrkspc_1',
  });
  expect(services.received.at(-1)?.headers['anthropic-beta']).toContain('oidc-federation-');
});
