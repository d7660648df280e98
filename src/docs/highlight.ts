/** Highlights code for the languages of the documentation, as HTML with class names. */
import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import ini from 'highlight.js/lib/languages/ini';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import python from 'highlight.js/lib/languages/python';
import sql from 'highlight.js/lib/languages/sql';
import typescript from 'highlight.js/lib/languages/typescript';
import yaml from 'highlight.js/lib/languages/yaml';
import { escapeHtml } from '../platform/http/html/html.ts';

const languages = { bash, ini, javascript, json, python, sql, typescript, yaml };
for (const [name, language] of Object.entries(languages)) {
  hljs.registerLanguage(name, language);
}

// Short names: a page has thousands.
hljs.configure({ classPrefix: 'h-' });
/** Commas and brackets have the color of the text. */
const plain = /<span class="h-punctuation">(.*?)<\/span>/g;

/** Escapes the code, highlighted or not. */
export function highlight(code: string, language: string): string {
  return hljs.getLanguage(language) === undefined
    ? escapeHtml(code)
    : hljs.highlight(code, { language, ignoreIllegals: true }).value.replaceAll(plain, '$1');
}
