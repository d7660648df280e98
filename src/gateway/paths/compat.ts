import { callFormats } from '../../kernel/providers/formats.ts';
import { endpointOperation } from './azure-operations.ts';
import { decoded, openAiOperation } from './openai-operations.ts';
import type { ServedPath } from './operation.ts';

/**
 * A single connection: `/compat/{connection}` followed by `/v1` is a base URL, and followed by `/openai` the endpoint of an Azure
 * client.
 */
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
