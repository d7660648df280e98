import { callFormats } from '../../kernel/providers/formats.ts';
import { endpointOperation } from './azure-operations.ts';
import { decoded, openAiOperation } from './openai-operations.ts';
import type { ServedPath } from './operation.ts';

/** One connection: `/compat/{connection}` is a base URL with `/v1` behind it, and the endpoint of an Azure client with `/openai`. */
export const compat: ServedPath = {
  prefix: '/compat',
  format: callFormats.chat,
  operationOf({ verb, segments: [name = '', first, ...rest], query }) {
    const connection = decoded(name);
    const request = { verb, segments: rest, query };
    if (connection === undefined) {
      return undefined;
    }
    if (first === 'openai') {
      return endpointOperation(request, { connection });
    }
    return first === 'v1' ? openAiOperation(request, { connection }) : undefined;
  },
};
