import { callFormats } from '../../kernel/providers/formats.ts';
import { endpointOperation } from './azure-operations.ts';
import type { ServedPath } from './operation.ts';

export const openai: ServedPath = {
  prefix: '/openai',
  format: callFormats.chat,
  operationOf: (request) => endpointOperation(request, undefined),
};
