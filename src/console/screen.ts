/** A page of the console: its declaration, the context of a visit and what a handler may return. */
import type { Credential } from '../platform/http/routes/access.ts';
import type { Progress } from '../platform/http/routes/route.ts';
import type { Api, ApiFailure, Stream } from './api.ts';
import { html, type Markup, type Part } from './html.ts';

export interface Screen {
  /** Default: GET. */
  readonly method?: 'GET' | 'POST';
  readonly path: string;
  /** Members of an organization, operators or both; a page for the other audience is not found. */
  readonly audience: Audience;
  /** The title of a page with a long-running operation, whose progress is shown until it ends. */
  readonly longWork?: string;
  /** The operation that its form calls. Visitors who may not call it see the form read-only, and no buttons. */
  readonly call?: Call;
  handler(visit: ScreenVisit): Promise<ScreenAnswer>;
}

/**
 * An API operation such as `PATCH {org}/budgets/{budget_id}`: `{org}` is the visitor's path prefix, other names are
 * parameters of the page.
 */
export type Call = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} ${string}`;

export type Audience = 'org' | 'operator' | 'everyone';

export interface ScreenVisit {
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Empty for a GET. */
  readonly form: URLSearchParams;
  readonly now: Date;
  readonly api: Api;
  /** Reports the progress of work that takes several calls; throws once the visitor has left the page. */
  reportProgress(progress: Progress): void;
  /**
   * Returns why the visitor may not use the form of a page; undefined if they may. Called for every button and every
   * link to a form.
   */
  readonly denied: FormAccess;
  readonly credential: Credential;
  /** URL of the service, for addresses that visitors copy. */
  readonly baseUrl: string;
  /** False if the deployment has no mail server. */
  readonly canSendMail: boolean;
  /** The kinds of connections, in the order in which they are shown. */
  readonly connectionKinds: readonly ShownKind[];
  /** A placeholder with the admin path for operators, who have no organization. */
  readonly org: VisitedOrg;
}

export interface ShownKind {
  readonly name: string;
  readonly label: string;
  /** True if its connections need not name a URL. */
  readonly hasDefaultUrl: boolean;
  /** The form of its URLs, if they name an account. */
  readonly urlForm: string | undefined;
}

export type FormAccess = (path: string) => ApiFailure | undefined;

export interface VisitedOrg {
  readonly id: string;
  readonly name: string;
  readonly timezone: string;
  /** The path prefix: `/v1/orgs/…`, or `/v1/admin` for operators. */
  readonly path: string;
}

export type ScreenAnswer = View | SeeOther | Download;

export interface View {
  readonly kind: 'view';
  readonly status: number;
  readonly title: string;
  readonly body: Markup;
  /**
   * True if something on the page is in progress: the page is then refreshed every few seconds, with a notice. A number: it is
   * refreshed every so many seconds, without a notice.
   */
  readonly autoRefresh: boolean | number;
}

export interface SeeOther {
  readonly kind: 'see_other';
  /** A path of the console. */
  readonly location: string;
}

export interface Download extends Stream {
  readonly kind: 'download';
  readonly fileName: string;
}

interface PageHead {
  readonly title: string;
  /** Default: the title. */
  readonly heading?: string;
  /** Buttons beside the heading. */
  readonly actions?: Part;
  readonly intro?: Part;
  readonly status?: number | undefined;
  readonly autoRefresh?: View['autoRefresh'];
}

/** Returns the template of a page: its content, below the heading. */
export function view(head: PageHead): (content: TemplateStringsArray, ...parts: Part[]) => View {
  const { title, heading = title, actions, intro, status = 200, autoRefresh = false } = head;
  return (content, ...parts) => {
    const body = html`<div class="heading"><div><h1>${heading}</h1>${intro !== undefined && html`<p class="intro">${intro}</p>`}</div>
${actions !== undefined && html`<div class="actions">${actions}</div>`}</div>${html(content, ...parts)}`;
    return { kind: 'view', status, title, body, autoRefresh };
  };
}

export function seeOther(location: string): SeeOther {
  return { kind: 'see_other', location };
}
