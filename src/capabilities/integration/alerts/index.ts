export { createMessages } from './messages.ts';
export { createChatMessages, createMailTransport } from './transports.ts';
export {
  createUnsubscribing,
  type RecipientName,
  type Unsubscribing,
  unsubscribePath,
} from './unsubscribing.ts';
