/** What a page of the console is, and what it may ask for and answer. */
import type { Credential } from '../platform/http/routes/access.ts';
import type { Progress } from '../platform/http/routes/route.ts';
import type { Api, ApiFailure, Stream } from './api.ts';
import type { Markup } from './html.ts';

export interface Screen {
  /** GET unless it says so. */
  readonly method?: 'GET' | 'POST';
  readonly path: string;
  /** People of an org, or operators; others are sent to their own first page. */
  readonly audience: Audience;
  /** Its title, where it asks for work that may take long: how far that is is shown until its answer is there. */
  readonly longWork?: string;
  /** The operation that its form is for. Visitors who may not call it are offered neither the page nor the button. */
  readonly call?: Call;
  handler(visit: ScreenVisit): Promise<ScreenAnswer>;
}

/** Of the API, as `PATCH {org}/budgets/{budget_id}`: `{org}` is the visitor's part of it, the rest are the page's parameters. */
export type Call = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} ${string}`;

export type Audience = 'org' | 'operator' | 'everyone';

export interface ScreenVisit {
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Empty for a GET. */
  readonly form: URLSearchParams;
  readonly now: Date;
  readonly api: Api;
  /** How far long work is that takes several questions; throws once nobody looks any more. */
  tell(progress: Progress): void;
  /** Why the visitor may not use a page's form; undefined: they may. Asked for every button and link to one. */
  readonly denied: Denied;
  readonly credential: Credential;
  /** `platform`-wide for operators, who have no org. */
  readonly org: VisitedOrg;
}

export type Denied = (path: string) => ApiFailure | undefined;

export interface VisitedOrg {
  readonly id: string;
  readonly name: string;
  readonly timezone: string;
  /** `/v1/orgs/…`, to put the rest of a path behind. */
  readonly path: string;
}

export type ScreenAnswer = View | SeeOther | Download;

export interface View {
  readonly kind: 'view';
  readonly status: number;
  readonly title: string;
  readonly body: Markup;
  /** What it shows is still under way: it is shown anew every few seconds until it is not. */
  readonly goesOn?: boolean;
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

export function view(title: string, body: Markup, status = 200): View {
  return { kind: 'view', status, title, body };
}

export function seeOther(location: string): SeeOther {
  return { kind: 'see_other', location };
}
