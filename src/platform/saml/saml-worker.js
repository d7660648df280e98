// @ts-check
/**
 * Verifies SAML responses in a thread of its own. What parses and canonicalizes XML can be kept busy for long by a short
 * text, and whoever posts it need not be anybody's member; here it can be stopped, and nobody else waits.
 *
 * Plain JavaScript, because a worker's file is loaded as it stands: from `src` in tests, from `dist` when built.
 */
import { parentPort } from 'node:worker_threads';
import { SAML } from '@node-saml/node-saml';

/** @param {import('./saml-thread.ts').VerificationRequest} question */
async function answer({ options, response }) {
  try {
    const { profile } = await new SAML(options).validatePostResponseAsync({ SAMLResponse: response });
    return { signed: profile?.getAssertion?.() };
  } catch (error) {
    return { wrong: error instanceof Error ? error.message : String(error) };
  }
}

parentPort?.on('message', async (question) => parentPort?.postMessage(await answer(question)));
parentPort?.postMessage('ready');
