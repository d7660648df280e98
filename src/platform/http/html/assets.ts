/** Stylesheets, scripts and the icon. Their paths contain a hash of the content, so browsers may cache them forever. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Page } from '../routes/page.ts';

const directory = new URL('../../../../assets/', import.meta.url);

interface Asset {
  readonly path: string;
  readonly contentType: string;
  readonly body: string;
}

function asset(name: string, ending: string, contentType: string): Asset {
  const body = readFileSync(new URL(`${name}.${ending}`, directory), 'utf8');
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 16);
  return { path: `/console/assets/${name}-${hash}.${ending}`, contentType, body };
}

export interface Assets {
  readonly stylesheet: string;
  readonly script: string;
  readonly icon: string;
  readonly docsStylesheet: string;
  readonly docsScript: string;
  readonly pages: readonly Page[];
}

/** The assets of the console, of its sign-in pages and of the documentation. */
export const assets = readAssets();

function readAssets(): Assets {
  const stylesheet = asset('console', 'css', 'text/css; charset=utf-8');
  const script = asset('console', 'js', 'text/javascript; charset=utf-8');
  const docsStylesheet = asset('docs', 'css', 'text/css; charset=utf-8');
  const docsScript = asset('docs', 'js', 'text/javascript; charset=utf-8');
  const icon = asset('icon', 'svg', 'image/svg+xml');
  return {
    stylesheet: stylesheet.path,
    script: script.path,
    icon: icon.path,
    docsStylesheet: docsStylesheet.path,
    docsScript: docsScript.path,
    pages: [stylesheet, script, icon, docsStylesheet, docsScript].map(({ path, contentType, body }) => ({
      path,
      handler: async () => ({
        status: 200,
        contentType,
        body,
        headers: { 'cache-control': 'public, max-age=31536000, immutable' },
      }),
    })),
  };
}
