/** Checks of settings that are valid but may still be wrong. */
import { isIP } from 'node:net';
import { deprecatedSettings, unknownSettings } from '../../config/settings.ts';
import { type Check, type Finding, fail, ok, skip, warn } from './check.ts';
import type { InspectedDeployment } from './deployment.ts';
import { isPurser } from './running-service.ts';

export const settingsChecks: readonly Check[] = [
  { id: 'settings', run: checkSettings },
  { id: 'base-url', run: checkBaseUrl },
  { id: 'base-url-reachable', run: checkBaseUrlReachable },
];

function checkSettings(): Finding {
  const unknown = unknownSettings();
  if (unknown.length > 0) {
    return warn(`Unknown: ${unknown.join(', ')}.`, 'Check the spelling; `purser config` lists all settings.');
  }
  const deprecated = deprecatedSettings();
  if (deprecated.length > 0) {
    return warn(
      `Deprecated: ${deprecated.map(({ name }) => name).join(', ')}.`,
      deprecated.map(({ notice }) => notice).join(' '),
    );
  }
  return ok('All settings are valid.');
}

function checkBaseUrl({ config: { baseUrl, host } }: InspectedDeployment): Finding {
  if (baseUrl === undefined) {
    return isLocal(host)
      ? ok('SVC_BASE_URL is not set; the service listens on this machine only.')
      : warn(
          `SVC_BASE_URL is not set, and the service listens on ${host}.`,
          'Set it to the URL that clients use: links, redirects of identity providers and cookies depend on it.',
        );
  }
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === 'http:' && !isLocal(hostname)
    ? warn(
        `SVC_BASE_URL is ${baseUrl}: keys and cookies are sent without encryption.`,
        'Put a proxy with TLS in front of the service and set SVC_BASE_URL to its https:// URL.',
      )
    : ok(`SVC_BASE_URL is ${baseUrl}.`);
}

function isLocal(host: string): boolean {
  const address = host.replace(/^\[|\]$/g, '');
  return isIP(address) === 0 ? address === 'localhost' : address === '::1' || address.startsWith('127.');
}

const answerWithinMs = 5_000;

async function checkBaseUrlReachable({
  config: { baseUrl },
  service,
}: InspectedDeployment): Promise<Finding> {
  if (baseUrl === undefined || service === undefined) {
    return skip(baseUrl === undefined ? 'SVC_BASE_URL is not set.' : 'The service is not running.');
  }
  const remedy = 'Check DNS, the proxy and its certificate, from the network of the clients.';
  try {
    const response = await fetch(`${baseUrl}/v1/meta/errors`, {
      signal: AbortSignal.timeout(answerWithinMs),
    });
    return response.ok && isPurser(response)
      ? ok(`${baseUrl} leads to Purser.`)
      : fail(`${baseUrl}/v1/meta/errors returned ${response.status}, not from Purser.`, remedy);
  } catch (error) {
    const { cause, message } = error as Error;
    const reason = cause instanceof Error ? cause.message : message;
    return warn(`${baseUrl} does not respond from this machine: ${reason}.`, remedy);
  }
}
