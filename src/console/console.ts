/**
 * The console: server-rendered pages. It is an in-process client of the API with the visitor's credential, so that the API
 * decides what a visitor may see and do.
 */
import type { ApiError } from '../contract/api-error.ts';
import { assets } from '../platform/http/html/assets.ts';
import { themeOf } from '../platform/http/html/theme.ts';
import type { CheckAccess, InProcessClient } from '../platform/http/pipeline/in-process-client.ts';
import type { Credential } from '../platform/http/routes/access.ts';
import { type Page, type PageAnswer, redirectTo, type Visit } from '../platform/http/routes/page.ts';
import { accountOf } from './account-menu.ts';
import { ApiFailure, apiFailure, apiFor } from './api.ts';
import { bannerOf } from './banner.ts';
import { errorView } from './errors.ts';
import { html, type Markup } from './html.ts';
import { plainPage, signedInPage } from './layout.ts';
import { entryOf, operatorMenu, orgMenu, searchPath } from './navigation.ts';
import { createDenied, openableMenu } from './operations.ts';
import { doneText } from './outcomes.ts';
import { firstStep, followProgress, untilDone } from './progress-stream.ts';
import type { Audience, Screen, ScreenAnswer, ShownKind, VisitedOrg } from './screen.ts';
import { screens } from './screens.ts';
import { themePage } from './theme.ts';

export interface ConsoleDependencies {
  readonly ask: InProcessClient;
  readonly examine: CheckAccess;
  /** Returns the visitor's credential, or the redirect to the sign-in page. */
  visitorOf(visit: Visit): Promise<{ readonly credential: Credential } | PageAnswer>;
  /** Returns the requested path if it is a page of the console. */
  returnPath(requested: string | null): string;
  /** Returns the URL of the service. */
  baseUrl(): string;
  readonly canSendMail: boolean;
  readonly connectionKinds: readonly ShownKind[];
}

/** Maximum size of a form, for pasted word lists and policies. Forms are read only after authentication. */
const screenFormBytes = 1_048_576;

export function consolePages(deps: ConsoleDependencies): Page[] {
  const { ask, examine, visitorOf, returnPath, baseUrl, canSendMail, connectionKinds } = deps;
  const deniedTo = createDenied(screens);

  function pageOf(screen: Screen): Page {
    return {
      ...(screen.method !== undefined && { method: screen.method }),
      path: screen.path,
      formLimitBytes: screenFormBytes,
      async handler(visit) {
        const visitor = await visitorOf(visit);
        return 'credential' in visitor ? show(screen, visit, visitor.credential) : visitor;
      },
      refused: errorPage,
    };
  }

  /** For errors before the visitor is authenticated, and unexpected errors. */
  function errorPage(error: ApiError, visit: Pick<Visit, 'headers' | 'traceId'>): PageAnswer {
    const { title, status, body } = errorView(apiFailure(error), visit.traceId);
    return plainPage({ theme: themeOf(visit.headers.cookie), title, status, body });
  }

  async function show(screen: Screen, visit: Visit, credential: Credential): Promise<PageAnswer> {
    const following = followProgress();
    const { address, traceId, now: foundAt } = visit;
    const findAgain = async (now: Date) => {
      const visitor = await visitorOf({ ...visit, now });
      return 'credential' in visitor ? visitor.credential : undefined;
    };
    const { report } = following;
    const api = apiFor(ask, examine, {
      credential,
      foundAt,
      findAgain,
      address,
      traceId,
      onProgress: report,
    });
    // The form is read before the API is called, so that the browser can finish sending.
    const form = screen.method === 'POST' ? await visit.form() : new URLSearchParams();
    const org = visitedOrg(credential);
    if (credential.support !== undefined) {
      // Records the visit, even if the page calls no other operation.
      await api.tryGet<'org.read'>(org.path);
    }
    const menu = credential.org === null ? operatorMenu : orgMenu;
    const frame = {
      theme: themeOf(visit.headers.cookie),
      menu: openableMenu(menu, api, org),
      url: visit.url,
      // The response to a form can only be reached by submitting the form again.
      back: screen.method === 'POST' ? entryOf(menu, visit.url) : visit.url,
      orgName: org.name,
      account: accountOf(credential, api, org),
      ...(screen.path === searchPath && { search: visit.query.get('q') ?? '' }),
      done: doneText(visit.query.get('done')),
      ...bannerOf(credential, org.timezone),
    };
    const denied = deniedTo(api, org);
    const pending = answerOf(screen, {
      ...visit,
      form,
      api,
      reportProgress: report,
      denied,
      credential,
      baseUrl: baseUrl(),
      canSendMail,
      connectionKinds,
      org,
    });
    const title = screen.longWork;
    const first = title === undefined ? undefined : await firstStep(pending, following);
    if (title !== undefined && first !== undefined) {
      const body = untilDone({ title, first, following, answer: pending, shown: bodyOf });
      return signedInPage({ ...frame, title, body, status: 200, autoRefresh: false });
    }
    const answer = await pending;
    switch (answer.kind) {
      case 'see_other':
        return redirectTo(answer.location);
      case 'download':
        return {
          status: 200,
          contentType: answer.contentType,
          body: answer.body,
          headers: {
            'cache-control': 'no-store',
            'content-disposition': `attachment; filename="${answer.fileName}"`,
          },
        };
      case 'view':
        return signedInPage({
          ...frame,
          title: answer.title,
          body: answer.body,
          status: answer.status,
          // `still` in the URL turns it off. In a support session it is always off, since every refresh would be
          // recorded.
          autoRefresh: !visit.query.has('still') && credential.support === undefined && answer.autoRefresh,
        });
    }
  }

  return [...assets.pages, themePage(returnPath), ...screens.map(pageOf)];
}

/** A streamed page cannot redirect any more, so it links to the target. */
function bodyOf(answer: ScreenAnswer): Markup {
  switch (answer.kind) {
    case 'view':
      return answer.body;
    case 'see_other':
      return html`<p class="done" role="status">Done. <a class="button" href="${answer.location}">Continue</a></p>`;
    case 'download':
      throw new Error('a long-running operation returned a download');
  }
}

async function answerOf(
  { audience, handler }: Screen,
  visit: Parameters<Screen['handler']>[0] & Pick<Visit, 'traceId'>,
): Promise<ScreenAnswer> {
  try {
    if (!isFor(audience, visit.credential)) {
      throw new ApiFailure(404, 'not_found', 'This page does not exist.', {});
    }
    return await handler(visit);
  } catch (error) {
    if (!(error instanceof ApiFailure)) {
      throw error;
    }
    return errorView(error, visit.traceId);
  }
}

function isFor(audience: Audience, { org }: Credential): boolean {
  return audience === 'everyone' || (audience === 'org') === (org !== null);
}

function visitedOrg({ org }: Credential): VisitedOrg {
  return org === null
    ? { id: '', name: 'Operators', timezone: 'UTC', path: '/v1/admin' }
    : { id: org.id, name: org.name, timezone: org.timezone, path: `/v1/orgs/${org.id}` };
}
