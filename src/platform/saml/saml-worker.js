// @ts-check
/**
 * Verifies SAML responses in its own thread. A short text can keep the XML parser and canonicalization busy for long, and
 * anyone can post one: here they can be stopped, and do not block other requests.
 *
 * Plain JavaScript, because the file of a worker is loaded as it is: from `src` in tests, from `dist` when built.
 */
import { parentPort } from 'node:worker_threads';
import { SAML } from '@node-saml/node-saml';

/** @param {import('./saml-thread.ts').SamlVerificationRequest} request */
async function verify({ options, response }) {
  try {
    const { profile } = await new SAML(options).validatePostResponseAsync({ SAMLResponse: response });
    return { signed: profile?.getAssertion?.() };
  } catch (error) {
    return { wrong: error instanceof Error ? error.message : String(error) };
  }
}

parentPort?.on('message', async (request) => parentPort?.postMessage(await verify(request)));
parentPort?.postMessage('ready');
