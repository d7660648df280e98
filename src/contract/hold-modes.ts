/** How much is held for a call through the gateway, as settings of orgs and keys name it. */
export const holdModes = ['worst_case', 'expected', 'paced'] as const;
export type HoldMode = (typeof holdModes)[number];
