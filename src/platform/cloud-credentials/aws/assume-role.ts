/**
 * A role that this service assumes, or that keys of the connection assume. For the service, the external id is the id of the organization: a
 * role whose trust policy requires it cannot be used by another organization that knows its name.
 */
import type { AwsCredential } from '../credential.ts';
import type {
  CredentialFields,
  CredentialRequest,
  CredentialSource,
  InvalidField,
  IssuedCredential,
} from '../credential-source.ts';
import { containerRole, hasContainerEndpoint } from './container.ts';
import { environmentKeys } from './environment.ts';
import { instanceRole } from './instance.ts';
import { sessionName } from './session-name.ts';
import { keysIn } from './static-keys.ts';
import { callSts } from './sts.ts';
import { hasWebIdentity, webIdentityRole } from './web-identity.ts';

/** Maximum for a role that another role assumes. */
const durationSeconds = '3600';
const tagsMax = 40;

export const assumeRole: CredentialSource = {
  required: ['role_arn'],
  optional: ['external_id', 'session_tags', 'access_key_id', 'secret_access_key', 'session_token'],
  usesService: ({ access_key_id }) => access_key_id === undefined,
  targetOf: ({ role_arn }) => role_arn,
  check,
  async acquire(request) {
    const { fields, owner } = request;
    const { role_arn = '', external_id } = fields;
    const isOfService = assumeRole.usesService(fields);
    const by = isOfService ? (await serviceRole(request)).credential : keysIn(fields);
    const externalId = isOfService ? owner.orgId : external_id;
    return callSts(
      request,
      'AssumeRole',
      {
        RoleArn: role_arn,
        RoleSessionName: sessionName(owner),
        DurationSeconds: durationSeconds,
        ...(externalId !== undefined && { ExternalId: externalId }),
        ...tagParameters(tagsOf(request)),
      },
      by as AwsCredential,
    );
  },
};

function check({
  role_arn = '',
  external_id,
  session_tags,
  access_key_id,
  secret_access_key,
  session_token,
}: CredentialFields): InvalidField | undefined {
  if (!/^arn:[a-z-]+:iam::\d{12}:role\/[\w+=,.@/-]{1,512}$/.test(role_arn)) {
    return {
      field: 'role_arn',
      message: 'Must be the ARN of a role, such as arn:aws:iam::123456789012:role/name.',
    };
  }
  if (access_key_id !== undefined && secret_access_key === undefined) {
    return { field: 'secret_access_key', message: 'Required with `access_key_id`.' };
  }
  if (access_key_id === undefined && (secret_access_key ?? session_token) !== undefined) {
    return { field: 'access_key_id', message: 'Required with `secret_access_key`.' };
  }
  if (access_key_id === undefined && external_id !== undefined) {
    return {
      field: 'external_id',
      message:
        'The external id is the id of the organization. Another one is allowed with `access_key_id` only.',
    };
  }
  const tags = Object.entries(session_tags ?? {});
  const isInvalid = tags.some(
    ([key, value]) =>
      !/^[\p{L}\p{Z}\p{N}_.:/=+\-@]{1,128}$/u.test(key) ||
      !/^[\p{L}\p{Z}\p{N}_.:/=+\-@]{0,256}$/u.test(value) ||
      /^(aws:|purser-)/i.test(key),
  );
  return isInvalid || tags.length > tagsMax
    ? {
        field: 'session_tags',
        message: `At most ${tagsMax} tags of letters, digits, spaces and _.:/=+-@. Keys must not start with aws: or purser-.`,
      }
    : undefined;
}

/** Bills and audit logs show these. Null: none, for roles whose trust policy does not allow `sts:TagSession`. */
function tagsOf({ fields: { session_tags = {} }, owner }: CredentialRequest): [string, string][] {
  return session_tags === null
    ? []
    : [...Object.entries(session_tags), ['purser-org', owner.orgId], ['purser-connection', owner.connection]];
}

function tagParameters(tags: readonly (readonly [string, string])[]): Record<string, string> {
  return Object.fromEntries(
    tags.flatMap(([key, value], index) => [
      [`Tags.member.${index + 1}.Key`, key],
      [`Tags.member.${index + 1}.Value`, value],
    ]),
  );
}

/** Returns the credentials of this service, in the order of the SDKs of AWS. */
export async function serviceRole(request: CredentialRequest): Promise<IssuedCredential> {
  if (request.surroundings.variables.AWS_ACCESS_KEY_ID !== undefined) {
    return environmentKeys(request);
  }
  if (hasWebIdentity(request)) {
    return webIdentityRole(request);
  }
  return hasContainerEndpoint(request) ? containerRole(request) : instanceRole(request);
}
