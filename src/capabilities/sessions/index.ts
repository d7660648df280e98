export { type SignInDependencies, showRefusal, signInPages } from './pages.ts';
export { consoleHome, returnPath, signInPath } from './return-path.ts';
export { sessionRoutes } from './routes.ts';
export { createSessions, type Sessions } from './sessions.ts';
export { refusedAnswer, signInAnswer } from './sign-in-frame.ts';
export { sessionTidying } from './tidying.ts';
export { isVisitor, type Visitor, visitorOf } from './visitor.ts';
