/** Check of the mail server, if one is set. It sends no message. */
import { createMailer } from '../../platform/mail/mailer.ts';
import { type Check, type Finding, fail, ok, skip } from './check.ts';
import type { InspectedDeployment } from './deployment.ts';

export const mailChecks: readonly Check[] = [{ id: 'mail', run: checkMail }];

async function checkMail({ config: { smtpServer, smtpFrom } }: InspectedDeployment): Promise<Finding> {
  if (smtpServer === undefined) {
    return skip('SVC_SMTP_URL is not set; no e-mail is sent.');
  }
  const { error, status, response, latencyMs } = await createMailer({
    server: smtpServer,
    from: smtpFrom,
  }).verify();
  return error === null && status === null
    ? ok(`${smtpServer.host} accepts the connection and the credentials, within ${latencyMs} ms.`)
    : fail(
        `${smtpServer.host} cannot be used: ${response ?? error ?? 'unknown error'}.`,
        'Start it, or correct SVC_SMTP_URL. Until then alerts and invitations by e-mail wait.',
      );
}
