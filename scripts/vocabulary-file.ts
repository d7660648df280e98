/** Writes `assets/o200k-vocabulary.bin`, from which the gateway counts tokens: the vocabulary of o200k, and the classes of characters. */
import { writeFileSync } from 'node:fs';
import { vocabularyFile } from '../src/gateway/body/vocabulary-format.ts';
import { vocabularyStrings } from '../test/support/o200k.ts';
import { characterClasses, vocabularyBytes } from '../test/support/vocabulary-bytes.ts';

writeFileSync(vocabularyFile, vocabularyBytes(vocabularyStrings(), characterClasses()));
