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

// A short prefix, because a page has thousands of class names.
hljs.configure({ classPrefix: 'h-' });
/** Spans that are removed, because commas and brackets have the color of the text. */
const plain = /<span class="h-punctuation">(.*?)<\/span>/g;

/** Returns the code as HTML. It is always escaped, and highlighted if the language is known. */
export function highlight(code: string, language: string): string {
  return hljs.getLanguage(language) === undefined
    ? escapeHtml(code)
    : hljs.highlight(code, { language, ignoreIllegals: true }).value.replaceAll(plain, '$1');
}
