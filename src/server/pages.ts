/** Lists every page: health, documentation, sign-in and the console. */

import { verificationPages } from '../capabilities/access/device-grant/index.ts';
import { memberPages } from '../capabilities/access/members/index.ts';
import { returnPath, signInPages, visitorOf } from '../capabilities/access/sessions/index.ts';
import { requiresSso, ssoPages } from '../capabilities/access/sso/index.ts';
import { kindNames, kindOf } from '../capabilities/integration/connections/index.ts';
import { deprecationsMarkdown } from '../capabilities/integration/deprecations/index.ts';
import { unsubscribePages } from '../capabilities/integration/email-subscriptions/index.ts';
import { consolePages } from '../console/console.ts';
import { docsPages, rootPage } from '../docs/index.ts';
import type { Pipeline } from '../platform/http/pipeline/pipeline.ts';
import type { Page } from '../platform/http/routes/page.ts';
import { healthPages } from '../platform/http/server/health.ts';
import { createOutboundFetch } from '../platform/outbound/fetch.ts';
import type { Components } from './components.ts';
import type { AppDependencies } from './dependencies.ts';

/** Creates the pages. `pipeline` is a function, because the pipeline itself is created from the pages. */
export function createPages(
  deps: AppDependencies,
  components: Components,
  openApi: () => object,
  pipeline: () => Pick<Pipeline, 'call' | 'checkAccess'>,
): Page[] {
  const { db, clock, config, ids, log, baseUrl, health, services } = deps;
  const { secrets, auditHeads: heads } = services;
  const {
    deprecations,
    attempts,
    allowPrivateNetworks,
    regions,
    metrics,
    mailer,
    findCredential,
    sessions,
    backoff,
    links,
    memberLinks,
    supportEntry,
    unsubscribing,
    toolSignIns,
    digestOfUserCode,
  } = components;
  return [
    ...healthPages(health, db, metrics),
    rootPage,
    ...docsPages({ openApi, deprecations: () => deprecationsMarkdown(deprecations) }),
    ...signInPages({ db, ids, heads, sessions, backoff, findCredential, requiresSso, attempts }),
    ...links.pages,
    ...verificationPages({
      db,
      clock,
      ids,
      heads,
      secrets,
      sessions,
      signIns: toolSignIns,
      digestOfUserCode,
    }),
    ...memberPages({ db, ids, heads, sessions, links: memberLinks }),
    ...unsubscribePages({ db, ids, heads, unsubscribing }),
    ...ssoPages({
      db,
      clock,
      ids,
      heads,
      log,
      secrets,
      sessions,
      backoff,
      backoffAttempts: config.authBackoffAttempts,
      attempts,
      allowPrivateNetworks,
      fetch: createOutboundFetch({ allowPrivateNetworks }),
      samlAnswerMsMax: deps.samlAnswerMsMax,
      baseUrl,
    }),
    ...(regions?.pages ?? []),
    ...supportEntry.pages,
    ...consolePages({
      ask: (request) => pipeline().call(request),
      examine: (request) => pipeline().checkAccess(request),
      visitorOf: async (visit) => (await supportEntry.visitorOf(visit)) ?? visitorOf(sessions, visit),
      returnPath,
      baseUrl,
      canSendMail: mailer.isConfigured,
      connectionKinds: kindNames.map((name) => {
        const { label, defaultUrl, account } = kindOf({ kind: name });
        const urlForm = account?.urlOf('{project}', '{location}');
        return { name, label, hasDefaultUrl: defaultUrl !== undefined, urlForm };
      }),
    }),
  ];
}
