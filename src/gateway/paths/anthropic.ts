import { callFormats } from '../../kernel/providers/formats.ts';
import type { ModelList, ServedPath } from './operation.ts';

const { messages } = callFormats;
const wanted = { format: messages } as const;
const forwarded = { format: messages, wanted } as const;

export const anthropic: ServedPath = {
  prefix: '/anthropic',
  format: messages,
  operationOf({ verb, segments, query }) {
    switch (`${verb} ${segments.join('/')}`) {
      case 'POST v1/messages':
        return { kind: 'metered', ...forwarded, below: '', query };
      case 'POST v1/messages/count_tokens':
        return { kind: 'free', ...forwarded, below: '/count_tokens', query };
      case 'GET v1/models':
        return { kind: 'models', wanted, list: anthropicModels };
      case 'GET ':
        return { kind: 'root' };
      default:
        return undefined;
    }
  },
};

const epoch = new Date(0).toISOString();

const anthropicModels: ModelList = {
  lists: (provider) => provider === null || provider === 'anthropic',
  bodyOf: (models) => ({
    data: models.map(({ model }) => ({ type: 'model', id: model, display_name: model, created_at: epoch })),
    has_more: false,
    first_id: models[0]?.model ?? null,
    last_id: models.at(-1)?.model ?? null,
  }),
};
