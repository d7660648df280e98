/** Reads a stream, counts its lines and discards them. */
import { request } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { BenchOrg } from './bench-org.ts';
import type { ServiceProcess } from './processes.ts';

export interface Downloaded {
  readonly lines: number;
  readonly bytes: number;
  readonly seconds: number;
}

export function download({ port }: ServiceProcess, { key }: BenchOrg, path: string): Promise<Downloaded> {
  const startedMs = performance.now();
  return new Promise((resolve, reject) => {
    const asked = request({ port, path, headers: { authorization: `Bearer ${key}` } }, (response) => {
      let [lines, bytes] = [0, 0];
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) {
          lines += 1;
        }
      });
      response.once('error', reject);
      response.once('end', () => {
        if (response.statusCode === 200) {
          resolve({ lines, bytes, seconds: (performance.now() - startedMs) / 1_000 });
        } else {
          reject(new Error(`${path} was answered with ${response.statusCode}`));
        }
      });
    });
    asked.once('error', reject);
    asked.end();
  });
}
