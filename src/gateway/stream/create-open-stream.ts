/** Chooses the implementation for the shape of a call. */
import { createOpenChat } from './open-chat.ts';
import { createOpenMessage } from './open-message.ts';
import { createOpenResponse } from './open-response.ts';
import type { OpenStream, StreamedCall } from './open-stream.ts';

export function createOpenStream(call: StreamedCall): OpenStream {
  switch (call.shape) {
    case 'messages':
      return createOpenMessage();
    case 'responses':
      return createOpenResponse(call.mayTruncate);
    default:
      return createOpenChat(call);
  }
}
