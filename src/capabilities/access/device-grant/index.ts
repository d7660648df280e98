export { createCodeEndpoint } from './code-endpoint.ts';
export { createUserCodeDigest } from './codes.ts';
export { deviceCodeTidying } from './tidying.ts';
export { verificationPages } from './verification-pages.ts';
