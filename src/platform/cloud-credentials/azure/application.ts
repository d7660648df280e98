/** An application with a secret or a certificate that the connection has. */
import {
  type CredentialFields,
  type CredentialSource,
  CredentialUnavailable,
  type InvalidField,
} from '../credential-source.ts';
import { privateKeyOf } from '../jwt.ts';
import { certificateOf, certificateProof, checkApplication, entraToken } from './entra.ts';

export const application: CredentialSource = {
  required: ['tenant_id', 'client_id'],
  optional: ['client_secret', 'client_certificate'],
  usesService: () => false,
  targetOf: ({ client_id }) => client_id,
  check,
  async acquire(request) {
    const {
      tenant_id: tenant = '',
      client_id: client = '',
      client_secret,
      client_certificate,
    } = request.fields;
    if (client_certificate !== undefined) {
      const proof = certificateProof(request, { tenant, client }, client_certificate, 'the certificate');
      return entraToken(request, { tenant, client }, proof);
    }
    if (client_secret === undefined) {
      throw new CredentialUnavailable('the secret of the connection cannot be decrypted');
    }
    return entraToken(request, { tenant, client }, { client_secret });
  },
};

function check(fields: CredentialFields): InvalidField | undefined {
  const { client_secret, client_certificate } = fields;
  if ((client_secret === undefined) === (client_certificate === undefined)) {
    return { field: 'client_secret', message: 'Send either `client_secret` or `client_certificate`.' };
  }
  return (
    checkApplication(fields) ?? (client_certificate === undefined ? undefined : checkPem(client_certificate))
  );
}

function checkPem(pem: string): InvalidField | undefined {
  try {
    privateKeyOf(pem, 'It');
    certificateOf(pem, 'It');
    return undefined;
  } catch {
    return {
      field: 'client_certificate',
      message: 'Must be PEM with a certificate and its RSA private key.',
    };
  }
}
