/** Errors of providers: whether the provider may have generated an answer, and charge for it, although it answered with an error. */
import type { ConnectionKind } from '../../capabilities/integration/connections/index.ts';
import { fieldsOf } from '../../kernel/providers/fields.ts';
import type { ProviderResponse } from './provider-client.ts';

/** Errors with which a provider says that it did not start: it is busy, or does not serve the request. */
const notStarted = /overload|unavailable|capacity|rate.?limit|quota|not.?found|loading|busy/i;

/** Of Azure: the prompt was evaluated, and maybe answered, before the filter rejected it. Azure charges for both. */
const filtered = /content.?filter|ResponsibleAI|content.?management/i;

/**
 * A 4xx is a rejection before any work, except for a timeout, and for contents that Azure has filtered. OpenAI, Anthropic and Azure do not charge for requests that they answer with
 * an error of their API; an error without it comes from a proxy before them. Another provider may be such a proxy itself, and have lost the
 * answer of the model behind it.
 */
export function mayHaveWorked(
  kind: ConnectionKind,
  { status, headers }: Pick<ProviderResponse, 'status' | 'headers'>,
  answer: unknown,
): boolean {
  const { error, type } = fieldsOf(answer);
  if (status < 500 && status !== 408) {
    return kind === 'azure_openai' && status >= 400 && filtered.test(JSON.stringify(error ?? ''));
  }
  if (kind !== 'openai_compatible') {
    return error == null;
  }
  const { type: errorType, code } = fieldsOf(error);
  const says = [errorType, code, type].some((word) => typeof word === 'string' && notStarted.test(word));
  const isPutOff = (status === 503 || status === 529) && headers['retry-after'] !== undefined;
  return !says && !isPutOff;
}
