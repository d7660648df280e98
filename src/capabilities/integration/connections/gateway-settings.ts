/** How the gateway treats the calls of an org. */

export const holdModes = ['worst_case', 'expected'] as const;
export const onLimitModes = ['refuse', 'fit', 'fallback'] as const;
export const onAbortModes = ['drain', 'close'] as const;

export interface GatewaySettings {
  /** Maximum output of a request that sets none. */
  readonly defaultMaxOutputTokens: number;
  /** Minimum output that `fit` and `fallback` accept. */
  readonly minOutputTokens: number;
  /** Input tokens assumed for content that cannot be seen; null: the context of the model. */
  readonly unseenInputTokens: number | null;
  readonly hold: (typeof holdModes)[number];
  readonly onLimit: (typeof onLimitModes)[number];
  readonly onAbort: (typeof onAbortModes)[number];
  /** Whether the end user in the body (`user`, `safety_identifier`, `metadata.user_id`) names the customer. */
  readonly customerFromBody: boolean;
}

export interface GatewaySettingsCache {
  /** Returns the settings of an org, or the defaults. Returns no promise if they are cached. */
  find(orgId: string): GatewaySettings | Promise<GatewaySettings>;
}
