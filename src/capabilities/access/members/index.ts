export { findMemberOf, type Identity, type IdentityRules, recognizeMember } from './identities.ts';
export { createMemberLinks } from './links.ts';
export { createMemberMails, encryptedColumns } from './mails.ts';
export { viewMember } from './members.ts';
export { memberPages } from './pages.ts';
export { findMemberships, selectMembers } from './queries.ts';
export { memberRoutes } from './routes.ts';
export { InviteMember } from './schema.ts';
