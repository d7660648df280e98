export { findMemberOf, type Identity, type IdentityRules, recognizeMember } from './identities.ts';
export { createMemberLinks } from './links.ts';
export { createMemberMails, encryptedColumns } from './mails.ts';
export { memberPages } from './pages.ts';
export { memberRoutes } from './routes.ts';
