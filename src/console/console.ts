/**
 * The console: server-rendered pages for those who would rather look than read. It is a client of the API, in this process
 * and as whoever is signed in, so what a person may see and do is decided where it is decided for keys.
 */
import type { ApiError } from '../contract/api-error.ts';
import { assets } from '../platform/http/html/assets.ts';
import { themeOf } from '../platform/http/html/theme.ts';
import type { CheckAccess, InProcessClient } from '../platform/http/pipeline/in-process-client.ts';
import type { Credential } from '../platform/http/routes/access.ts';
import { type Page, type PageAnswer, redirectTo, type Visit } from '../platform/http/routes/page.ts';
import { ApiFailure, apiFailure, apiFor } from './api.ts';
import { bannerOf } from './banner.ts';
import { refusalBody, refusalTitle } from './errors.ts';
import { html, type Markup } from './html.ts';
import { plainPage, signedInPage } from './layout.ts';
import { entryOf, operatorMenu, orgMenu } from './navigation.ts';
import { createDenied } from './operations.ts';
import { doneText } from './outcomes.ts';
import { firstStep, followProgress, untilDone } from './progress-stream.ts';
import { type Audience, type Screen, type ScreenAnswer, type VisitedOrg, view } from './screen.ts';
import { screens } from './screens.ts';
import { themePage } from './theme.ts';

export interface ConsoleDependencies {
  readonly ask: InProcessClient;
  readonly examine: CheckAccess;
  /** Who is signed in, or the way to the sign-in page. */
  visitorOf(visit: Visit): Promise<{ readonly credential: Credential } | PageAnswer>;
  /** Where a form asks to lead back to, if that is a page of the console. */
  returnPath(asked: string | null): string;
}

/** Lists of words and whole policies are pasted into forms. They are read only once it is known who sends them. */
const screenFormBytes = 1_048_576;

export function consolePages({ ask, examine, visitorOf, returnPath }: ConsoleDependencies): Page[] {
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
      refused,
    };
  }

  /** Something that was wrong before it was known who asks, or that nobody expected. */
  function refused(error: ApiError, visit: Pick<Visit, 'headers' | 'traceId'>): PageAnswer {
    return plainPage({
      theme: themeOf(visit.headers.cookie),
      title: refusalTitle(error.code),
      status: error.status,
      body: refusalBody(apiFailure(error), visit.traceId),
    });
  }

  async function show(screen: Screen, visit: Visit, credential: Credential): Promise<PageAnswer> {
    const following = followProgress();
    const { address, traceId, now: foundAt } = visit;
    const findAgain = async (now: Date) => {
      const visitor = await visitorOf({ ...visit, now });
      return 'credential' in visitor ? visitor.credential : undefined;
    };
    const { tell } = following;
    const api = apiFor(ask, examine, { credential, foundAt, findAgain, address, traceId, onProgress: tell });
    // The form is read before anything else is waited for, so that the browser is not kept sending.
    const form = screen.method === 'POST' ? await visit.form() : new URLSearchParams();
    const org = visitedOrg(credential);
    if (credential.support !== undefined) {
      // Puts the visit on record, also to a page that asks nothing else.
      await api.tryGet<'org.read'>(org.path);
    }
    const menu = credential.org === null ? operatorMenu : orgMenu;
    const frame = {
      theme: themeOf(visit.headers.cookie),
      menu,
      url: visit.url,
      // What a form has led to can only be come back to by sending it again.
      back: screen.method === 'POST' ? entryOf(menu, visit.url) : visit.url,
      orgName: org.name,
      role: credential.role,
      done: doneText(visit.query.get('done')),
      ...bannerOf(credential, org.timezone),
    };
    const denied = deniedTo(api, org);
    const coming = answerOf(screen, { ...visit, form, api, tell, denied, credential, org });
    const title = screen.longWork;
    const first = title === undefined ? undefined : await firstStep(coming, following);
    if (title !== undefined && first !== undefined) {
      const body = untilDone({ title, first, following, answer: coming, shown: bodyOf });
      return signedInPage({ ...frame, title, body, status: 200, goesOn: false });
    }
    const answer = await coming;
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
          // Whoever wants to read in peace says so in the address.
          // Under support each renewal would be put on record.
          goesOn: answer.goesOn === true && !visit.query.has('still') && credential.support === undefined,
        });
    }
  }

  return [...assets.pages, themePage(returnPath), ...screens.map(pageOf)];
}

/** A page that has begun cannot lead elsewhere any more: it says where one goes on. */
function bodyOf(answer: ScreenAnswer): Markup {
  switch (answer.kind) {
    case 'view':
      return answer.body;
    case 'see_other':
      return html`<p class="done" role="status">It is done. <a class="button" href="${answer.location}">Go on</a></p>`;
    case 'download':
      throw new Error('long work ended with a file');
  }
}

async function answerOf(
  { audience, handler }: Screen,
  visit: Parameters<Screen['handler']>[0] & Pick<Visit, 'traceId'>,
): Promise<ScreenAnswer> {
  try {
    if (!isFor(audience, visit.credential)) {
      throw new ApiFailure(404, 'not_found', 'There is no such page.', {});
    }
    return await handler(visit);
  } catch (error) {
    if (!(error instanceof ApiFailure)) {
      throw error;
    }
    return view(refusalTitle(error.code), refusalBody(error, visit.traceId), error.status);
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
