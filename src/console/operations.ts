/** Maps the forms and menu entries of the console to API operations, and checks which of them a visitor may use. */
import type { InProcessRequest } from '../platform/http/pipeline/in-process-client.ts';
import type { Api } from './api.ts';
import { type MenuEntry, type MenuGroup, readCallOf } from './navigation.ts';
import type { Call, FormAccess, Screen, VisitedOrg } from './screen.ts';

export interface ApiOperation {
  readonly method: InProcessRequest['method'];
  readonly path: string;
}

/** Stands for the path of the visitor's organization. */
const orgPrefix = '{org}';

export function operationOf(
  call: Call,
  org: VisitedOrg,
  params: Readonly<Record<string, string>>,
): ApiOperation {
  const [method, template = ''] = call.split(' ') as [InProcessRequest['method'], string?];
  const path = template.startsWith(orgPrefix)
    ? org.path + pathOf(template.slice(orgPrefix.length), params)
    : pathOf(template, params);
  return { method, path };
}

/** Fills the parameters into a path template. */
export function pathOf(template: string, params: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
}

/**
 * Returns a check of whether the visitor may use the form at a path: the operation of the form, and the one that its page and
 * the page that follows it cannot do without. Access depends on role, scopes and support grant, not on the resource, so each
 * operation is checked once per visit, however many rows have a button for it.
 */
export function createDenied(screens: readonly Screen[]): (api: Api, org: VisitedOrg) => FormAccess {
  const { fixed, others } = formTargets(screens);
  return (api, org) => {
    const checked = new Map<Call, ReturnType<FormAccess>>();
    const deniedCall = (call: Call) => {
      if (!checked.has(call)) {
        checked.set(call, deniedOperation(call, api, org));
      }
      return checked.get(call);
    };
    return (url) => {
      const path = url.replace(/[?#].*/s, '');
      const call = fixed.get(path) ?? others.find(({ pattern }) => pattern.test(path))?.call;
      if (call === undefined) {
        throw new Error(`no form posts to ${path}`);
      }
      const read = readCallOf(path);
      return deniedCall(call) ?? (read && deniedCall(read));
    };
  };
}

/** Calls with placeholders instead of parameters: the route does not depend on the values. There are as many as pages declare. */
const placeholderCalls = new Map<Call, ApiOperation>();

function placeholderCall(call: Call): ApiOperation {
  const known = placeholderCalls.get(call);
  if (known !== undefined) {
    return known;
  }
  const [method, path = ''] = call.replaceAll(/\{(?!org\})\w+\}/g, '-').split(' ') as [
    ApiOperation['method'],
    string?,
  ];
  const operation = { method, path };
  placeholderCalls.set(call, operation);
  return operation;
}

function deniedOperation(call: Call, api: Api, org: VisitedOrg): ReturnType<FormAccess> {
  const { method, path } = placeholderCall(call);
  return api.denied(method, inOrg(path, org));
}

/** Replaces `{org}` at the start of a path. */
function inOrg(template: string, org: VisitedOrg): string {
  return template.startsWith(orgPrefix) ? org.path + template.slice(orgPrefix.length) : template;
}

interface FormTargets {
  /** Calls of forms whose path has no parameters. */
  readonly fixed: ReadonlyMap<string, Call>;
  readonly others: readonly { readonly pattern: RegExp; readonly call: Call }[];
}

function formTargets(screens: readonly Screen[]): FormTargets {
  const targets = screens.flatMap(({ method, path, call }) =>
    method === 'POST' && call !== undefined ? [{ path, call }] : [],
  );
  const parameters = (path: string) => path.split('{').length - 1;
  return {
    fixed: new Map(targets.map(({ path, call }) => [path, call])),
    // Paths with fewer parameters come first: one of two may match the name of an action, such as `/test`, as an id.
    others: targets
      .filter(({ path }) => parameters(path) > 0)
      .toSorted((a, b) => parameters(a.path) - parameters(b.path))
      .map(({ path, call }) => ({
        pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
        call,
      })),
  };
}

/** The menu without the pages that the visitor may not open. */
export function openableMenu(menu: readonly MenuGroup[], api: Api, org: VisitedOrg): readonly MenuGroup[] {
  return menu
    .map(({ title, entries }) => ({ title, entries: openable(entries, api, org) }))
    .filter(({ entries }) => entries.length > 0);
}

/** The entries whose pages the visitor may open. */
export function openable(entries: readonly MenuEntry[], api: Api, org: VisitedOrg): readonly MenuEntry[] {
  return entries.filter(({ call }) => call === undefined || deniedOperation(call, api, org) === undefined);
}
