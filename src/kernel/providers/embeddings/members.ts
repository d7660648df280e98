/** Members of embedding requests. Their input is a text, a list of texts or of tokens; other objects are media that providers add. */
import { type FormatMembers, members } from '../member-kinds.ts';

export const embeddingsMembers: FormatMembers = {
  request: members(
    'model input dimensions encoding_format user input_type truncate truncation task late_chunking normalized embedding_type ' +
      'output_dimension output_dtype priority',
    { metadata: 'json', provider: 'settings' },
  ),
  tool: members('type'),
};
