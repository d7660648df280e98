/** Names of the amount that is held for a call through the gateway, in settings of orgs and keys. */
export const holdModes = ['worst_case', 'expected', 'paced'] as const;
export type HoldMode = (typeof holdModes)[number];

/** Bounds of `reserve_for_running`, in settings of orgs and keys. */
export const reserveSeconds = { default: 5, max: 600 } as const;
