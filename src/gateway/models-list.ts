/** The list of models, in the format of the dialect: those that have a price and a connection. */
import type { Connections } from '../capabilities/integration/connections/index.ts';
import type { Prices } from '../capabilities/spend/models/index.ts';
import type { Reply } from '../platform/http/message/reply.ts';
import type { Operation } from './operations.ts';

export async function listModels(
  { prices, connections }: { readonly prices: Prices; readonly connections: Connections },
  orgId: string,
  { dialect, wanted }: Operation,
  now: Date,
): Promise<Reply> {
  const served: { readonly model: string; readonly provider: string | null }[] = [];
  for (const { model, provider } of await prices.list(orgId, now.getTime())) {
    if (isOfDialect(dialect, provider) && (await connections.candidates(orgId, wanted, model)).length > 0) {
      served.push({ model, provider });
    }
  }
  served.sort((a, b) => (a.model < b.model ? -1 : 1));
  const body =
    dialect === 'anthropic'
      ? {
          data: served.map(({ model }) => ({
            type: 'model',
            id: model,
            display_name: model,
            created_at: epoch,
          })),
          has_more: false,
          first_id: served[0]?.model ?? null,
          last_id: served.at(-1)?.model ?? null,
        }
      : {
          object: 'list',
          data: served.map(({ model, provider }) => ({
            id: model,
            object: 'model',
            created: 0,
            owned_by: provider ?? 'unknown',
          })),
        };
  return {
    status: 200,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    body: JSON.stringify(body),
  };
}

/** A connection without a list of models accepts every name; models of the other dialect are of no use there. */
function isOfDialect(dialect: Operation['dialect'], provider: string | null): boolean {
  return provider === null || (provider === 'anthropic') === (dialect === 'anthropic');
}

const epoch = new Date(0).toISOString();
