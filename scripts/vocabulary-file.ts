/** Writes `assets/o200k-vocabulary.bin`, from which the gateway estimates tokens: the vocabulary of o200k as hashes. */
import { writeFileSync } from 'node:fs';
import { vocabularyBytes, vocabularyFile } from '../src/gateway/body/vocabulary.ts';
import { vocabularyStrings } from '../test/support/o200k.ts';

writeFileSync(vocabularyFile, vocabularyBytes(vocabularyStrings()));
