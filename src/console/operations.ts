/** The operations of the API that pages stand for: where each is found, and which of them a visitor may use. */
import type { InProcessRequest } from '../platform/http/pipeline/in-process-client.ts';
import type { Api } from './api.ts';
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
  const ofOrg = '{org}';
  const path = template.startsWith(ofOrg)
    ? org.path + pathOf(template.slice(ofOrg.length), params)
    : pathOf(template, params);
  return { method, path };
}

/** A path's template with the values of its parameters. */
export function pathOf(template: string, params: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
}

interface Place {
  readonly pattern: RegExp;
  readonly call: Call;
}

/**
 * Role, scopes and grant decide, and they are the same for every resource of a kind, so each operation is examined once
 * a visit, however many rows have a button for it.
 */
export function createDenied(screens: readonly Screen[]): (api: Api, org: VisitedOrg) => Denied {
  const places = placesOf(screens);
  return (api, org) => {
    const known = new Map<Call, ReturnType<Denied>>();
    return (url) => {
      const path = url.replace(/[?#].*/s, '');
      const call = places.find(({ pattern }) => pattern.test(path))?.call;
      if (call === undefined) {
        throw new Error(`no form is sent to ${path}`);
      }
      if (!known.has(call)) {
        // Any value will do: which route it is does not depend on it.
        const { method, path: target } = operationOf(
          call.replaceAll(/\{(?!org\})\w+\}/g, '-') as Call,
          org,
          {},
        );
        known.set(call, api.denied(method, target));
      }
      return known.get(call);
    };
  };
}

/** Paths without parameters first: that of a form for something new would pass for the page of one that exists. */
function placesOf(screens: readonly Screen[]): Place[] {
  const parameters = (path: string) => path.split('{').length;
  return screens
    .filter((screen) => screen.method === 'POST')
    .toSorted((a, b) => parameters(a.path) - parameters(b.path))
    .flatMap(({ path, call }) =>
      call === undefined ? [] : [{ pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`), call }],
    );
}
