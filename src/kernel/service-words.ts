/** Names of service tiers and regions: short and lower-case, so that there is only one spelling. */
export const wordPattern = '^[a-z0-9][a-z0-9._-]{0,63}$';
