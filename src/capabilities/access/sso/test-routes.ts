import { ApiError, apiError, found, invalidFields } from '../../../contract/api-error.ts';
import type { FieldError } from '../../../contract/errors.ts';
import { changeOf } from '../../../platform/http/routes/outcomes.ts';
import { bodyLimits, type Route, read, write } from '../../../platform/http/routes/route.ts';
import { findOrg, lockOrg } from '../orgs/index.ts';
import { connectionFrom, serviceUrls } from './connection.ts';
import { findConnection } from './queries.ts';
import { checkMaySetSignIn, type SsoRouteDependencies } from './routes.ts';
import { createSignInTests, testsPerOrgMax } from './sign-in-tests.ts';
import { countTests, findTest } from './test-queries.ts';
import { CreatedSsoTest, CreateSsoTest, SsoEndpoints, SsoTestView } from './test-schema.ts';

const reader = { kind: 'org', scope: 'org:read', role: 'owner' } as const;
const owner = { kind: 'org', scope: 'org:write', role: 'owner' } as const;

export function ssoTestRoutes(deps: SsoRouteDependencies): Route[] {
  const { db, secrets, allowPrivateNetworks, baseUrl } = deps;
  const tests = createSignInTests(deps);

  return [
    read({
      id: 'sso.endpoints',
      path: '/v1/orgs/{id}/sso/endpoints',
      summary: 'Get the URLs to register with an identity provider',
      description:
        'They do not depend on the settings, so they are available before single sign-on is set up.',
      access: reader,
      response: SsoEndpoints,
      async handler({ params }) {
        const org = found(await findOrg(db, params.id));
        const oidc = serviceUrls(baseUrl(), org.slug, 'oidc');
        const saml = serviceUrls(baseUrl(), org.slug, 'saml');
        return {
          oidc: {
            login_url: oidc.loginUrl,
            redirect_url: oidc.redirectUrl,
            org_redirect_url: oidc.orgRedirectUrl,
          },
          saml: { login_url: saml.loginUrl, sp_entity_id: saml.spEntityId, acs_url: saml.acsUrl },
        };
      },
    }),
    write({
      id: 'sso.tests.create',
      method: 'POST',
      path: '/v1/orgs/{id}/sso/tests',
      summary: 'Test single sign-on',
      description:
        'Open `start_url` in a browser within ten minutes, sign in at the identity provider, and get the test again to ' +
        'see what it said and what would follow. No session is opened, and no member or setting is changed. Tests of ' +
        'settings that are not in force need them in `settings`.',
      access: owner,
      body: CreateSsoTest,
      bodyOptional: true,
      bodyLimitBytes: bodyLimits.lists,
      success: 201,
      response: CreatedSsoTest,
      errors: ['conflict'],
      async handler({ params, body, caller, now }, tx) {
        checkMaySetSignIn(caller);
        // Serializes creations, so that concurrent requests cannot exceed the maximum.
        found(await lockOrg(tx, params.id));
        const { settings } = body;
        const draft = { orgId: params.id, now, allowPrivateNetworks };
        const before = await findConnection(tx, params.id);
        const connection = found(
          settings === undefined
            ? before
            : inSettings(() => connectionFrom(secrets, { ...draft, body: settings, before })),
          'Single sign-on is not set up. Send the settings to test.',
        );
        if ((await countTests(tx, params.id, now)) >= testsPerOrgMax) {
          throw apiError('conflict', 'Too many tests at once. Try again in a few minutes.');
        }
        const { row, token } = await tests.create(tx, connection, now);
        const view = tests.view(row);
        const after = { id: row.id, kind: row.kind, issuer: connection.issuer };
        return {
          body: { ...view, start_url: `${baseUrl()}/sso/tests/${token}/start` },
          changes: [changeOf('sso_test', row, { after })],
        };
      },
    }),
    read({
      id: 'sso.tests.read',
      path: '/v1/orgs/{id}/sso/tests/{test_id}',
      summary: 'Get a test of single sign-on',
      description: 'The result is kept for an hour.',
      access: reader,
      response: SsoTestView,
      handler: async ({ params, now }) =>
        tests.view(found(await findTest(db, params.id, params.test_id, now))),
    }),
  ];
}

/** Runs `work`, which checks the settings. Converts field names in its errors to those of the request body. */
function inSettings<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof ApiError && error.code === 'validation_failed') {
      const { fields } = error.details as { readonly fields: readonly FieldError[] };
      throw invalidFields(fields.map((fault) => ({ ...fault, field: `settings.${fault.field}` })));
    }
    throw error;
  }
}
