/** When a figure of the installation is a warning or a failure. `purser doctor` uses the same. */
export const overdueHoldSeconds = { warn: 60, fail: 600 };
export const overdueWebhookSeconds = { warn: 300, fail: 3_600 };
export const overdueEventSeconds = { warn: 60, fail: 600 };
export const pricesWarnDays = 90;
