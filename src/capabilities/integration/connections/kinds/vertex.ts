/** Vertex AI of Google Cloud: models of Google, and of its partners, below the path of a project. */
import { callFormats } from '../../../../kernel/providers/formats.ts';
import { googleSources } from '../../../../platform/cloud-credentials/google/index.ts';
import { isLostByProxy } from './charged-failures.ts';
import type { Envelope } from './envelope.ts';
import { gemini } from './gemini.ts';
import { bearerToken } from './key-header.ts';
import type { ProviderKind } from './provider-kind.ts';
import { compatibleModelName, vendorModelName, vertexModelId } from './vertex-models.ts';

const {
  chat,
  messages,
  gemini: format,
  gemini_embeddings: embeddings,
  vertex_embeddings: predictions,
} = callFormats;
const googleModel = `/{version}{account}/publishers/google${format.path}`;
const claudeModels = '/v1{account}/publishers/anthropic/models';
const addedToMessages = { anthropic_version: 'vertex-2023-10-16' };

function hostOf(location: string): string {
  if (location === 'global') {
    return 'aiplatform.googleapis.com';
  }
  const isMultiRegion = location === 'us' || location === 'eu';
  return isMultiRegion
    ? `aiplatform.${location}.rep.googleapis.com`
    : `${location}-aiplatform.googleapis.com`;
}

/** Messages of Anthropic, which Google passes on. */
const claude: Envelope = {
  path: `${claudeModels}/{model}:rawPredict`,
  streamPath: `${claudeModels}/{model}:streamRawPredict`,
  removed: ['model'],
  added: addedToMessages,
  headers: { 'anthropic-version': '2023-06-01' },
  takesBetaHeader: true,
  nameOf: vendorModelName,
  countTokens: {
    path: `${claudeModels}/count-tokens:rawPredict`,
    bodyOf: (body) => Buffer.from(JSON.stringify({ ...JSON.parse(body.toString()), ...addedToMessages })),
    answerOf: (answer) => answer,
  },
};

/** Keys of Google Cloud. Access tokens have other prefixes, or are JSON Web Tokens. */
const apiKeyForm = /^(AIza|AQ\.)/;

export const vertex: ProviderKind = {
  label: 'Google Vertex AI',
  commandName: 'vertex',
  defaultUrl: undefined,
  provider: 'vertex_ai',
  urlParameters: [],
  account: {
    pattern: /\/projects\/[a-z][a-z0-9.:-]{0,99}\/locations\/(?<location>[a-z][a-z0-9-]{0,39})$/,
    form:
      '`https://{location}-aiplatform.googleapis.com/projects/{project}/locations/{location}`, ' +
      '`https://aiplatform.googleapis.com/projects/{project}/locations/global`, or `https://aiplatform.googleapis.com` for a key of express mode',
    example: '/projects/test-project/locations/europe-west1',
    urlOf: (project, location) => `https://${hostOf(location)}/projects/${project}/locations/${location}`,
  },
  paths: new Map([
    [format, googleModel],
    [embeddings, googleModel],
    [predictions, googleModel],
    [chat, `/v1{account}/endpoints/openapi${chat.path}`],
  ]),
  versions: { v1beta: 'v1beta1', v1alpha: 'v1beta1' },
  imitated: new Map([[chat, compatibleModelName]]),
  envelopes: new Map([[messages, claude]]),
  modelId: vertexModelId,
  isPricedById: false,
  credentialSources: googleSources,
  authenticate(request, credential) {
    const isApiKey = credential.type === 'key' && apiKeyForm.test(credential.key);
    (isApiKey ? gemini.authenticate : bearerToken)(request, credential);
  },
  keyHeaders: ['authorization', ...gemini.keyHeaders],
  accountHeaders: gemini.accountHeaders,
  tierHeader: 'x-vertex-ai-llm-shared-request-type',
  isAnyProvider: false,
  namesModels: false,
  servesDeployments: false,
  enforcesContext: true,
  wholeStreams: [],
  mayChargeFailure: isLostByProxy,
  test: {
    model: gemini.test.model,
    path: `/vertex/v1/publishers/google${format.path}:generateContent`,
    bodyOf: gemini.test.bodyOf,
  },
};
