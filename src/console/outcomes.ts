/**
 * What is told after something was done. The word travels in the address of the page that is shown next, so it has to be
 * one of these: a text from elsewhere is never shown.
 */
const outcomes = {
  budget_created: 'The budget was created.',
  limit_created: 'The limit was created.',
  pack_created: 'The credit pack was created.',
  key_revoked: 'The key was revoked.',
  webhook_created: 'The webhook was created. Make a secret of its own before you rely on it.',
  paused: 'Paused: deliveries wait.',
  resumed: 'Resumed.',
  test_sent: 'A test event is on its way.',
  redelivered: 'It is being delivered again.',
  approved: 'Approved.',
  denied: 'Denied.',
  rule_created: 'The rule is in force.',
  cohort_created: 'The cohort was defined.',
  member_removed: 'The member was removed.',
  session_ended: 'The session is over.',
  grant_made: 'The grant was made.',
  grant_revoked: 'The grant was revoked.',
  org_created: 'The organization was created. Mint its first key next.',
  org_removed: 'The organization is being removed.',
  suspended: 'Suspended.',
  reinstated: 'Reinstated.',
  plan_created: 'The plan was created.',
  topped_up: 'Topped up.',
  erasing: 'The customer is being erased.',
  corrected: 'The cost was corrected.',
  saved: 'Saved.',
  deleted: 'Deleted.',
  voided: 'Voided.',
} as const;

export type Outcome = keyof typeof outcomes;

export function doneText(word: string | null): string | undefined {
  return word !== null && Object.hasOwn(outcomes, word) ? outcomes[word as Outcome] : undefined;
}
