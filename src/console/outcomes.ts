/**
 * Messages after a completed action. The URL of the next page carries the key of the message, never its text, so that a forged
 * link cannot show another text.
 */
const outcomes = {
  budget_created: 'Budget created.',
  limit_created: 'Limit created.',
  requested: 'Sent to the administrators.',
  limit_raised: 'Limit raised.',
  raise_ended: 'Raise ended.',
  pack_created: 'Credit pack created.',
  key_revoked: 'API key revoked.',
  connection_created: 'Connection created.',
  paused: 'Paused. Events are queued.',
  resumed: 'Resumed.',
  test_sent: 'Test event queued. Its delivery shows the result.',
  email_alert_created: 'E-mail alert created.',
  test_mail_sent: 'Test e-mail sent.',
  redelivered: 'Delivery queued again.',
  approved: 'Approved.',
  denied: 'Denied.',
  rejected: 'Rejected.',
  rule_created: 'Rule created.',
  cohort_created: 'Cohort created.',
  member_removed: 'Member removed.',
  session_ended: 'Session ended.',
  tool_sign_in_ended: 'Sign-in ended.',
  grant_made: 'Grant created.',
  grant_revoked: 'Grant revoked.',
  org_created: 'Organization created. Create its first API key next.',
  org_removed: 'Organization removal started.',
  suspended: 'Suspended.',
  reinstated: 'Reinstated.',
  plan_created: 'Plan created.',
  topped_up: 'Topped up.',
  erasing: 'Customer erasure started.',
  corrected: 'Cost adjusted.',
  reconciled: 'Differences posted.',
  saved: 'Saved.',
  deleted: 'Deleted.',
  voided: 'Voided.',
} as const;

export type FormOutcome = keyof typeof outcomes;

export function doneText(outcome: string | null): string | undefined {
  return outcome !== null && Object.hasOwn(outcomes, outcome) ? outcomes[outcome as FormOutcome] : undefined;
}
