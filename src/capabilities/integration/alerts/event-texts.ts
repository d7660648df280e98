/** Texts about prices, runs, statements, keys, approvals and subscriptions. */
import { shortened } from '../../../platform/shortened-text.ts';
import type { AlertText } from './alert-text.ts';
import { day, instant, usd } from './format.ts';

const nameCharsMax = 150;
const named = (text: string) => shortened(text, nameCharsMax);

export function priceMissingText(data: {
  readonly run_id: string;
  readonly model: string;
  readonly posted_usd: string;
}): AlertText {
  return {
    title: `Model ${named(data.model)} has no price`,
    text: `A run of ${named(data.model)} could not be priced: the reserved ${usd(data.posted_usd)} were posted instead. Set a price, then reprice the run. Further runs of this model today are not reported.`,
    tone: 'warning',
    facts: [['Run', data.run_id]],
    page: { label: 'Open run', path: `/console/runs/${encodeURIComponent(data.run_id)}` },
  };
}

export function unpricedModelText(data: { readonly model: string; readonly runs: number }): AlertText {
  return {
    title: `Model ${named(data.model)} is used without a price`,
    text: `${named(data.model)} has no price, so its cost is not known. Set a price, or choose what happens with such models.`,
    tone: 'warning',
    facts: [['Runs without a price', String(data.runs)]],
    page: { label: 'Open models without a price', path: '/console/settings/unpriced-models' },
  };
}

export function unsettledText(data: {
  readonly run_id: string;
  readonly model: string;
  readonly key_id: string;
  readonly workflow: string | null;
  readonly customer_id: string | null;
  readonly posted_usd: string;
}): AlertText {
  return {
    title: `A run of ${named(data.model)} was never settled`,
    text: `A reservation expired without a run, so the reserved ${usd(data.posted_usd)} were posted. Check that the client with this key settles its decisions. Further ones of this key today are not reported.`,
    tone: 'warning',
    facts: [
      ['Run', data.run_id],
      ['API key', data.key_id],
      ...(data.workflow === null ? [] : [['Workflow', named(data.workflow)] as const]),
      ...(data.customer_id === null ? [] : [['Customer', named(data.customer_id)] as const]),
    ],
    page: { label: 'Open run', path: `/console/runs/${encodeURIComponent(data.run_id)}` },
  };
}

export function driftText(data: {
  readonly statement_id: string;
  readonly provider: string;
  readonly period_start: string;
  readonly period_end: string;
  readonly billed_usd: string;
  readonly difference_usd: string;
  readonly drift_usd: string;
}): AlertText {
  const isMore = Number(data.difference_usd) >= 0;
  return {
    title: `The statement of ${named(data.provider)} differs from the ledger`,
    text: `${named(data.provider)} billed ${usd(data.billed_usd)}, ${usd(Math.abs(Number(data.difference_usd)))} ${isMore ? 'more' : 'less'} than recorded. Compare the statement to see where.`,
    tone: 'warning',
    facts: [
      ['Period', `from ${day(data.period_start)}, before ${day(data.period_end)}`],
      ['Sum of all differences', usd(data.drift_usd)],
    ],
    page: { label: 'Open statement', path: `/console/statements/${encodeURIComponent(data.statement_id)}` },
  };
}

export function keyExpiringText(
  data: {
    readonly id: string;
    readonly name: string;
    readonly hint: string;
    readonly expires_at: string | null;
    readonly days_left: number;
  },
  timezone: string,
): AlertText {
  const when = data.expires_at === null ? 'soon' : `on ${instant(data.expires_at, timezone)}`;
  return {
    title: `API key ${named(data.name)} expires in ${data.days_left === 1 ? 'a day' : `${data.days_left} days`}`,
    text: `API key ${named(data.name)} (${data.hint}…) expires ${when}. Rotate it before then: requests with an expired key fail.`,
    tone: data.days_left <= 1 ? 'critical' : 'warning',
    page: { label: 'Open API key', path: `/console/keys/${encodeURIComponent(data.id)}` },
  };
}

export function approvalText(
  data: {
    readonly id: string;
    readonly reason: string;
    readonly attempted: string;
    readonly key_id: string;
    readonly expires_at: string;
  },
  timezone: string,
): AlertText {
  return {
    title: `Approval needed for ${named(data.attempted)}`,
    text: `A run of ${named(data.attempted)} waits for an approval: ${shortened(data.reason, 500)} Decide until ${instant(data.expires_at, timezone)}.`,
    tone: 'warning',
    facts: [['API key', data.key_id]],
    page: { label: 'Open approvals', path: '/console/approvals' },
  };
}

export function webhookDisabledText(data: {
  readonly id: string;
  readonly url: string;
  readonly disabled_reason: string | null;
}): AlertText {
  const host = URL.canParse(data.url) ? new URL(data.url).host : 'The receiver';
  return {
    title: `Webhook to ${named(host)} was disabled`,
    text: `${named(host)} ${data.disabled_reason === 'gone' ? 'answered that it is gone (410)' : 'did not accept any event for 5 days'}, so its webhook was disabled. Correct the receiver, then resume the webhook.`,
    tone: 'warning',
    page: { label: 'Open webhook', path: `/console/webhooks/${encodeURIComponent(data.id)}` },
  };
}

export function suspendedText(data: { readonly suspension_reason: string | null }): AlertText {
  return {
    title: 'The organization was suspended',
    text: `The organization was suspended${data.suspension_reason === null ? '' : `: ${shortened(data.suspension_reason, 500)}`}. Its API keys are rejected until an operator reinstates it.`,
    tone: 'critical',
    page: { label: 'Open settings', path: '/console/settings' },
  };
}

export const testText: AlertText = {
  title: 'Test message',
  text: 'This is a test. Alerts will look like this.',
  tone: 'info',
  page: { label: 'Open console', path: '/console' },
};

/** For a delivery from before its webhook got a format for people. */
export function otherText(type: string): AlertText {
  return {
    title: `Event ${type}`,
    text: `An event of type ${type} occurred.`,
    tone: 'info',
    page: { label: 'Open console', path: '/console' },
  };
}
