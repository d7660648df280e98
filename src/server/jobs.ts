/** Lists every background job. */

import { deviceCodeTidying } from '../capabilities/access/device-grant/index.ts';
import { expiringKeys, unusedKeys } from '../capabilities/access/keys/index.ts';
import { sessionTidying } from '../capabilities/access/sessions/index.ts';
import { ssoTidying } from '../capabilities/access/sso/index.ts';
import { toolSignInTidying } from '../capabilities/access/tool-sign-ins/index.ts';
import { dailyCheckpoints } from '../capabilities/compliance/audit/index.ts';
import { erasureJob } from '../capabilities/compliance/erasure/index.ts';
import { purgeRemovedOrgs } from '../capabilities/compliance/org-removal/index.ts';
import { emptyMonthsJob, retentionJob } from '../capabilities/compliance/retention/index.ts';
import { approvalExpiry } from '../capabilities/governance/approvals/index.ts';
import { weeklyDigests } from '../capabilities/insight/digests/index.ts';
import { exhaustionWatch } from '../capabilities/insight/forecasts/index.ts';
import { driftWatch } from '../capabilities/insight/ledger/index.ts';
import { summarizeOrgs } from '../capabilities/insight/org-summaries/index.ts';
import { statementDriftJob } from '../capabilities/insight/statements/index.ts';
import { createChatMessages, createMailTransport } from '../capabilities/integration/alerts/index.ts';
import { hasUnsubscribed } from '../capabilities/integration/email-subscriptions/index.ts';
import {
  createHttpTransport,
  createSender,
  subscribersSince,
  webhookJobs,
} from '../capabilities/integration/webhooks/index.ts';
import { recordEndedRaises } from '../capabilities/spend/raises/index.ts';
import { expiredResponsesJob } from '../capabilities/spend/runs/index.ts';
import { version } from '../config/version.ts';
import { ledgerJobs } from '../ledger/jobs.ts';
import { expiredKeysJob } from '../platform/http/pipeline/idempotency.ts';
import { checkpointJob } from '../platform/jobs/checkpoint-job.ts';
import type { Job } from '../platform/jobs/jobs.ts';
import { untouchedMetersJob } from '../platform/rates/postgres-rate-limiter.ts';
import type { Components } from './components.ts';
import type { AppDependencies } from './dependencies.ts';

export function createJobs(deps: AppDependencies, components: Components): Job[] {
  const { db, clock, ids, log, faults, services } = deps;
  const { ledger, orgLimits, secrets, auditSigner, auditHeads: heads, processes } = services;
  const {
    docsUrl,
    mailer,
    memberMails,
    unsubscribing,
    buildMessage,
    callers,
    drift,
    deliveries,
    limitEvents,
    refusals,
    attempts,
    allowPrivateNetworks,
    regions,
    keyUses,
    credentials,
    blocked,
    erasureDependencies,
    keyReleases,
  } = components;
  return [
    expiredKeysJob(db),
    keyReleases.job,
    expiredResponsesJob(db),
    purgeRemovedOrgs(db, clock),
    ...ledgerJobs({ db, clock, ledger }),
    db.engine === 'embedded' ? checkpointJob(db) : untouchedMetersJob(db, clock),
    driftWatch({ db, ledger: ledger.reads, maintenance: ledger.maintenance, clock, log, drift }),
    services.failOpen.job,
    limitEvents.job,
    refusals.job,
    blocked.job,
    approvalExpiry({ db, ids, heads, clock }),
    recordEndedRaises({ db, ids, heads, clock }),
    expiringKeys({ db, ids, clock }),
    unusedKeys({ db, ids, heads, clock }),
    exhaustionWatch({ db, ids, clock, ledger: ledger.reads, orgLimits, wants: services.events.wants }),
    statementDriftJob({ db, ids, clock }),
    weeklyDigests({ db, ids, clock, ledger: ledger.reads, subscribersSince }),
    summarizeOrgs({ db, ledger: ledger.reads, clock }),
    keyUses.job,
    ...credentials.jobs,
    ...webhookJobs({
      db,
      clock,
      ids,
      heads,
      log,
      faults,
      secrets,
      counts: deliveries,
      http: createHttpTransport({
        sender: createSender({ allowPrivateNetworks }),
        chat: createChatMessages(buildMessage),
        userAgent: `Purser/${version}`,
        docsUrl,
      }),
      mail: createMailTransport({
        build: buildMessage,
        mailer,
        unsubscribing,
        rates: services.rates,
        clock,
        hasUnsubscribed: (address) => hasUnsubscribed(db, address),
      }),
    }),
    ...processes.jobs,
    ...(regions?.jobs ?? []),
    callers.job,
    memberMails.job,
    sessionTidying({ db, clock }),
    ssoTidying({ db, clock }),
    deviceCodeTidying({ db, clock }),
    toolSignInTidying({ db, clock }),
    attempts.job,
    retentionJob({ db, ids, heads, clock, faults, log, signer: auditSigner }),
    emptyMonthsJob({ db, clock }),
    erasureJob({ ...erasureDependencies, log }),
    dailyCheckpoints({ db, ids, heads, signer: auditSigner, clock, log }),
  ];
}
