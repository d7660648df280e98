/** Amazon Bedrock, with an API key of it or with signed requests. */
import { thinkingTokensOf } from '../../../../kernel/providers/call-request.ts';
import { fieldsOf } from '../../../../kernel/providers/fields.ts';
import { callFormats } from '../../../../kernel/providers/formats.ts';
import { parsed } from '../../../../kernel/providers/received-text.ts';
import { awsSources } from '../../../../platform/cloud-credentials/aws/index.ts';
import { signAws } from '../../../../platform/cloud-credentials/sign-aws.ts';
import { bedrockId, foundationOf } from './bedrock-ids.ts';
import { isRejection } from './charged-failures.ts';
import type { Envelope, TokenCounting } from './envelope.ts';
import { bearerToken } from './key-header.ts';
import type { FailedResponse, ProviderKind, UnsignedRequest } from './provider-kind.ts';

const { chat, converse, messages } = callFormats;

/** Counts a request as it would be sent to the model, which must state a maximum. */
const countTokens: TokenCounting = {
  path: '/model/{model}/count-tokens',
  modelOf: foundationOf,
  bodyOf(body) {
    const { model: _, ...request } = fieldsOf(parsed(body.toString('utf8')));
    const invoked = { max_tokens: thinkingTokensOf(request) + 1, ...messagesEnvelope.added, ...request };
    const bytes = Buffer.from(JSON.stringify(invoked)).toString('base64');
    return Buffer.from(JSON.stringify({ input: { invokeModel: { body: bytes } } }));
  },
  answerOf: ({ inputTokens }) => ({ input_tokens: inputTokens }),
};

const messagesEnvelope: Envelope = {
  path: '/model/{model}/invoke',
  streamPath: '/model/{model}/invoke-with-response-stream',
  removed: ['model', 'stream'],
  added: { anthropic_version: 'bedrock-2023-05-31' },
  headers: { 'anthropic-version': '2023-06-01' },
  framing: 'aws_chunks',
  countTokens,
};

/** Used for connections that name no region, such as those to a proxy. */
const usualRegion = 'us-east-1';

function sign(request: UnsignedRequest, credential: Parameters<typeof signAws>[1]): void {
  const { connection, method, path, headers, body, atMs } = request;
  const url = new URL(`${connection.baseUrl}${path}`);
  const { region = usualRegion } = connection;
  signAws({ method, url, headers, body }, credential, { region, service: 'bedrock', atMs });
}

/** Errors with which Bedrock says that it did not start. */
const notStarted = /^(Throttling|ServiceUnavailable|ModelNotReady)Exception\b/;

/** The model has failed, maybe after it had generated an answer. */
function isOfModel({ status, headers }: FailedResponse): boolean {
  return status === 424 || /^Model(Error|Timeout)Exception\b/.test(String(headers['x-amzn-errortype'] ?? ''));
}

export const bedrock: ProviderKind = {
  label: 'Amazon Bedrock',
  commandName: 'bedrock',
  defaultUrl: undefined,
  provider: 'aws',
  urlParameters: [],
  account: undefined,
  paths: new Map([
    [converse, converse.path],
    [chat, `/openai/v1${chat.path}`],
  ]),
  versions: {},
  imitated: new Map(),
  envelopes: new Map([[messages, messagesEnvelope]]),
  modelId: bedrockId,
  isPricedById: true,
  credentialSources: awsSources,
  authenticate(request, credential) {
    if (credential.type === 'aws') {
      sign(request, credential);
    } else {
      bearerToken(request, credential);
    }
  },
  keyHeaders: ['authorization'],
  accountHeaders: ['x-amz-security-token', 'x-amz-date', 'x-amz-content-sha256'],
  tierHeader: undefined,
  isAnyProvider: false,
  namesModels: false,
  servesDeployments: true,
  enforcesContext: true,
  wholeStreams: [messages],
  mayChargeFailure: (response) =>
    isOfModel(response) ||
    (!isRejection(response) && !notStarted.test(String(response.headers['x-amzn-errortype'] ?? ''))),
  test: {
    // The id is that of the geography of the connection.
    model: 'nova-micro',
    path: `/bedrock${converse.path}/converse`,
    bodyOf: (_, text, maxTokens) => ({
      messages: [{ role: 'user', content: [{ text }] }],
      inferenceConfig: { maxTokens },
    }),
  },
};
