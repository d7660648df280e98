/** The settings of the gateway for the calls of an org: defaults, storage, cache. */

import { invalidField } from '../../../contract/api-error.ts';
import { type HoldMode, reserveSeconds } from '../../../contract/hold-modes.ts';
import { formatUsd, parseUsd } from '../../../kernel/money.ts';
import { NotifiedCache } from '../../../platform/cache/notified-cache.ts';
import { changeChannel } from '../../../platform/db/change-channel.ts';
import type { Database, Queryable, Transaction } from '../../../platform/db/database.ts';
import { tableOf } from '../../../platform/db/table.ts';
import { lockOrg } from '../../access/orgs/index.ts';
import type {
  GatewayView,
  onAbortModes,
  onLimitModes,
  PutGateway,
  plainCallModes,
  unknownTokenizerModes,
  unseenInputModes,
} from './gateway-schema.ts';

export interface GatewaySettings {
  /** Maximum output of a request that sets none. */
  readonly defaultMaxOutputTokens: number;
  /** Minimum output that `fit` and `fallback` accept. */
  readonly minOutputTokens: number;
  /** Holds or refuses calls with input that cannot be seen. Results of tools of the provider are held in any case. */
  readonly unseenInput: (typeof unseenInputModes)[number];
  /** Input tokens assumed for content that cannot be seen; null: the context of the model. */
  readonly unseenInputTokens: number | null;
  /** The amount to hold for text if the gateway does not have the tokenizer of the model: an estimate, or one token per byte. */
  readonly unknownTokenizer: (typeof unknownTokenizerModes)[number];
  /** Calls of tools of the provider in a request that sets no maximum. */
  readonly maxToolCalls: number;
  /** The cost of a call of a tool without a price; null: such a request is refused. */
  readonly unpricedToolCallNanos: bigint | null;
  readonly hold: HoldMode;
  /** Seconds of the streams in progress that a new one leaves free, if their holds follow their time. */
  readonly reserveForRunning: number;
  /** Sends calls that are not streamed as they are, or as streams that are put together for the client. */
  readonly plainCalls: (typeof plainCallModes)[number];
  readonly onLimit: (typeof onLimitModes)[number];
  readonly onAbort: (typeof onAbortModes)[number];
  /** True if the end user in the body (`user`, `safety_identifier`, `metadata.user_id`) names the customer. */
  readonly customerFromBody: boolean;
}

export interface GatewaySettingsCache {
  /** Returns the settings of an org, or the defaults. Returns no promise if they are cached. */
  find(orgId: string): GatewaySettings | Promise<GatewaySettings>;
}

interface GatewayRow {
  readonly org_id: string;
  readonly default_max_output_tokens: bigint;
  readonly min_output_tokens: bigint;
  readonly unseen_input: GatewaySettings['unseenInput'];
  readonly unseen_input_tokens: bigint | null;
  readonly unknown_tokenizer: GatewaySettings['unknownTokenizer'];
  readonly max_tool_calls: bigint;
  readonly unpriced_tool_call_nanos: bigint | null;
  readonly hold: GatewaySettings['hold'];
  readonly reserve_for_running: number;
  readonly plain_calls: GatewaySettings['plainCalls'];
  readonly on_limit: GatewaySettings['onLimit'];
  readonly on_abort: GatewaySettings['onAbort'];
  readonly customer_from_body: boolean;
  readonly updated_at: Date;
}

export const gatewayDefaults: GatewayView = {
  default_max_output_tokens: 8_192,
  min_output_tokens: 256,
  unseen_input: 'hold',
  unseen_input_tokens: null,
  unknown_tokenizer: 'estimate',
  max_tool_calls: 10,
  unpriced_tool_call_usd: null,
  hold: 'worst_case',
  reserve_for_running: reserveSeconds.default,
  plain_calls: 'as_sent',
  on_limit: 'refuse',
  on_abort: 'drain',
  customer_from_body: false,
  updated_at: null,
};

const storedSettings = tableOf<GatewayRow>()('gateway_settings', {
  columns: `org_id, default_max_output_tokens, min_output_tokens, unseen_input, unseen_input_tokens, unknown_tokenizer,
    max_tool_calls, unpriced_tool_call_nanos, hold, reserve_for_running, plain_calls, on_limit, on_abort, customer_from_body, updated_at`,
  key: ['org_id'],
});

const settingsChanged = changeChannel('gateway_settings_changed');
const cachedOrgsMax = 10_000;

export function createGatewaySettings(db: Database): GatewaySettingsCache {
  const cache = new NotifiedCache<GatewaySettings>(db, {
    maxEntries: cachedOrgsMax,
    onChange: settingsChanged.on,
    load: async (orgId) => settingsOf(await readGatewaySettings(db, orgId)),
  });
  return { find: (orgId) => cache.get(orgId) };
}

/** Returns the stored settings, or the defaults. */
export async function readGatewaySettings(db: Queryable, orgId: string): Promise<GatewayView> {
  const row = await storedSettings.find(db, orgId);
  return row === undefined ? gatewayDefaults : viewOf(row);
}

/** Replaces the settings; fields that are left out get their default. */
export async function putGatewaySettings(
  tx: Transaction,
  orgId: string,
  now: Date,
  body: PutGateway,
): Promise<{ readonly before: GatewayView; readonly after: GatewayView }> {
  const after: GatewayView = { ...gatewayDefaults, ...body, updated_at: now.toISOString() };
  if (after.min_output_tokens > after.default_max_output_tokens) {
    throw invalidField(
      'min_output_tokens',
      'out_of_range',
      'Must not be greater than `default_max_output_tokens`.',
    );
  }
  await lockOrg(tx, orgId);
  const before = await readGatewaySettings(tx, orgId);
  await storedSettings.upsert(tx, rowOf(orgId, now, after));
  await settingsChanged.notify(tx, orgId);
  return { before, after };
}

function rowOf(orgId: string, now: Date, view: GatewayView): GatewayRow {
  const { unseen_input_tokens, unpriced_tool_call_usd, ...rest } = view;
  return {
    ...rest,
    org_id: orgId,
    default_max_output_tokens: BigInt(view.default_max_output_tokens),
    min_output_tokens: BigInt(view.min_output_tokens),
    unseen_input_tokens: unseen_input_tokens === null ? null : BigInt(unseen_input_tokens),
    max_tool_calls: BigInt(view.max_tool_calls),
    unpriced_tool_call_nanos: nanosOf(unpriced_tool_call_usd),
    updated_at: now,
  };
}

function viewOf(row: GatewayRow): GatewayView {
  const { org_id: _, updated_at, unseen_input_tokens, unpriced_tool_call_nanos: toolNanos, ...rest } = row;
  return {
    ...rest,
    default_max_output_tokens: Number(row.default_max_output_tokens),
    min_output_tokens: Number(row.min_output_tokens),
    unseen_input_tokens: unseen_input_tokens === null ? null : Number(unseen_input_tokens),
    max_tool_calls: Number(row.max_tool_calls),
    unpriced_tool_call_usd: toolNanos === null ? null : formatUsd(toolNanos),
    updated_at: updated_at.toISOString(),
  };
}

function nanosOf(usd: string | null): bigint | null {
  return usd === null ? null : (parseUsd(usd) ?? null);
}

function settingsOf(view: GatewayView): GatewaySettings {
  return {
    defaultMaxOutputTokens: view.default_max_output_tokens,
    minOutputTokens: view.min_output_tokens,
    unseenInput: view.unseen_input,
    unseenInputTokens: view.unseen_input_tokens,
    unknownTokenizer: view.unknown_tokenizer,
    maxToolCalls: view.max_tool_calls,
    unpricedToolCallNanos: nanosOf(view.unpriced_tool_call_usd),
    hold: view.hold,
    reserveForRunning: view.reserve_for_running,
    plainCalls: view.plain_calls,
    onLimit: view.on_limit,
    onAbort: view.on_abort,
    customerFromBody: view.customer_from_body,
  };
}
