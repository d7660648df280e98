/** The API of the calls that this process is forwarding. */
import { type Static, Type } from 'typebox';
import { formatUsd } from '../kernel/money.ts';
import { allFormats } from '../kernel/providers/formats.ts';
import { label } from '../ledger/scope.ts';
import { decodeCursor, encodeCursor, listParameters, pageSize } from '../platform/http/routes/list.ts';
import { type Route, read } from '../platform/http/routes/route.ts';
import { choice, closed, id, nullable, page, timestamp } from '../platform/http/routes/schemas.ts';
import { type CallStatus, callStates } from './call-status.ts';

export interface CallRouteDependencies {
  /** Returns the calls of all orgs. */
  callsInProgress(): readonly CallStatus[];
  readonly processes: { readonly id: string; count(): number };
}

const GatewayCallView = closed({
  decision_id: id,
  run_id: nullable(
    Type.String({ description: 'Null for a call that was allowed while the ledger was unavailable.' }),
  ),
  started_at: timestamp,
  state: choice(
    callStates,
    '`waiting`: the response has not begun, or is not a stream. `streaming`: it is passed on to the client. `draining`: the client ' +
      'has left, and the rest is read for its usage. `settling`: the call has ended, and its cost is being posted.',
  ),
  key_id: Type.String(),
  member_id: nullable(Type.String()),
  model: Type.String(),
  operation: choice(allFormats.map(({ name }) => name)),
  stream: Type.Boolean(),
  connection_id: nullable(Type.String({ description: 'The connection of the last attempt.' })),
  connection_name: nullable(Type.String()),
  attempts: Type.Integer(),
  held_usd: Type.String(),
  input_tokens: Type.Integer({ description: 'An upper bound, from the text of the call.' }),
  max_output_tokens: Type.Integer(),
  output_tokens: nullable(
    Type.Integer({ description: 'Null until the provider reports it, which most do at the end.' }),
  ),
  output_tokens_at_most: Type.Integer({
    minimum: 0,
    description: 'Upper bound of the output tokens that were received so far.',
  }),
});
type GatewayCallView = Static<typeof GatewayCallView>;

const GatewayCallsView = closed({
  ...page(GatewayCallView).properties,
  process_id: Type.String({ description: 'The process that answers. Only its own calls are listed.' }),
  processes: Type.Integer({ description: 'The number of processes of the service, including this one.' }),
});

const callSorts = { started_at: 'timestamptz' } as const;
const CallFilters = listParameters(callSorts, {
  key_id: Type.Optional(label),
  member_id: Type.Optional(label),
  state: Type.Optional(choice(callStates)),
});
type CallFilters = Static<typeof CallFilters>;

export function gatewayCallRoutes({ callsInProgress, processes }: CallRouteDependencies): Route[] {
  return [
    read({
      id: 'gateway.calls.list',
      path: '/v1/orgs/{id}/gateway/calls',
      summary: 'List calls in progress',
      description:
        'Calls through the gateway that are not settled yet, oldest first, without content. Only those of the process that ' +
        'answers: `processes` is the number of processes. `GET /v1/orgs/{id}/holds` lists the holds of the calls of all processes.',
      access: { kind: 'org', scope: 'connections:read', role: 'viewer' },
      query: CallFilters,
      response: GatewayCallsView,
      handler: async ({ params, query }) => ({
        ...pageOf(
          callsInProgress().filter(({ orgId }) => orgId === params.id),
          query,
        ),
        process_id: processes.id,
        processes: processes.count(),
      }),
    }),
  ];
}

function pageOf(calls: readonly CallStatus[], query: CallFilters) {
  const { limit = pageSize.fallback, cursor, sort = 'started_at' } = query;
  const direction = sort.startsWith('-') ? -1 : 1;
  const sorted = calls
    .filter(
      ({ keyId, memberId, state }) =>
        (query.key_id ?? keyId) === keyId &&
        (query.member_id ?? memberId) === memberId &&
        (query.state ?? state) === state,
    )
    .sort((a, b) => direction * compare(a, b));
  const after = cursor === undefined ? undefined : positionOf(cursor, sort);
  const rest = after === undefined ? sorted : sorted.filter((call) => direction * compare(call, after) > 0);
  const data = rest.slice(0, limit).map(view);
  const last = data.at(-1);
  const more = rest.length > limit && last !== undefined;
  return { data, next_cursor: more ? encodeCursor(sort, last.started_at, last.decision_id) : null };
}

type Position = Pick<CallStatus, 'startedAt' | 'decisionId'>;

function positionOf(cursor: string, sort: string): Position {
  const { value, id: decisionId } = decodeCursor(cursor, sort, callSorts.started_at);
  return { startedAt: value as Date, decisionId };
}

function compare(a: Position, b: Position): number {
  const difference = a.startedAt.getTime() - b.startedAt.getTime();
  return difference !== 0
    ? difference
    : a.decisionId < b.decisionId
      ? -1
      : Number(a.decisionId > b.decisionId);
}

function view(call: CallStatus): GatewayCallView {
  return {
    decision_id: call.decisionId,
    run_id: call.runId,
    started_at: call.startedAt.toISOString(),
    state: call.state,
    key_id: call.keyId,
    member_id: call.memberId,
    model: call.model,
    operation: call.operation,
    stream: call.isStream,
    connection_id: call.connection?.id ?? null,
    connection_name: call.connection?.name ?? null,
    attempts: call.attempts,
    held_usd: formatUsd(call.heldNanos),
    input_tokens: call.inputTokens,
    max_output_tokens: call.maxOutputTokens,
    output_tokens: call.outputTokens,
    output_tokens_at_most: call.outputBound,
  };
}
