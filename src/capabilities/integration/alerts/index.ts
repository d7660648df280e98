export { createMessages } from './messages.ts';
export { createChatMessages, createMailTransport } from './transports.ts';
export { createUnsubscribing, type Unsubscribing, unsubscribePath } from './unsubscribing.ts';
