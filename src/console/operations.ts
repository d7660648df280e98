/** Maps the forms and menu entries of the console to API operations, and checks which of them a visitor may use. */
import type { InProcessRequest } from '../platform/http/pipeline/in-process-client.ts';
import type { Api } from './api.ts';
import { type MenuEntry, type MenuGroup, readCallOf } from './navigation.ts';
import type { Call, Denied, Screen, VisitedOrg } from './screen.ts';

export interface Operation {
  readonly method: InProcessRequest['method'];
  readonly path: string;
}

export function operationOf(
  call: Call,
  org: VisitedOrg,
  params: Readonly<Record<string, string>>,
): Operation {
  const [method, template = ''] = call.split(' ') as [InProcessRequest['method'], string?];
  const orgPrefix = '{org}';
  const path = template.startsWith(orgPrefix)
    ? org.path + pathOf(template.slice(orgPrefix.length), params)
    : pathOf(template, params);
  return { method, path };
}

/** Fills the parameters into a path template. */
export function pathOf(template: string, params: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
}

interface FormTarget {
  readonly pattern: RegExp;
  readonly call: Call;
}

/**
 * Returns a check of whether the visitor may use the form at a path: the operation of the form, and the one that its page and
 * the page that follows it cannot do without. Access depends on role, scopes and support grant, not on the resource, so each
 * operation is checked once per visit, however many rows have a button for it.
 */
export function createDenied(screens: readonly Screen[]): (api: Api, org: VisitedOrg) => Denied {
  const targets = formTargets(screens);
  return (api, org) => {
    const checked = new Map<Call, ReturnType<Denied>>();
    const deniedCall = (call: Call) => {
      if (!checked.has(call)) {
        checked.set(call, deniedOperation(call, api, org));
      }
      return checked.get(call);
    };
    return (url) => {
      const path = url.replace(/[?#].*/s, '');
      const call = targets.find(({ pattern }) => pattern.test(path))?.call;
      if (call === undefined) {
        throw new Error(`no form posts to ${path}`);
      }
      const read = readCallOf(path);
      return deniedCall(call) ?? (read && deniedCall(read));
    };
  };
}

function deniedOperation(call: Call, api: Api, org: VisitedOrg): ReturnType<Denied> {
  // Placeholders are enough: the route does not depend on the values.
  const { method, path } = operationOf(call.replaceAll(/\{(?!org\})\w+\}/g, '-') as Call, org, {});
  return api.denied(method, path);
}

/** Paths with fewer parameters come first: `/new` would otherwise match the path of an existing resource. */
function formTargets(screens: readonly Screen[]): FormTarget[] {
  const parameters = (path: string) => path.split('{').length;
  return screens
    .filter((screen) => screen.method === 'POST')
    .toSorted((a, b) => parameters(a.path) - parameters(b.path))
    .flatMap(({ path, call }) =>
      call === undefined ? [] : [{ pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`), call }],
    );
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
