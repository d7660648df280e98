/** The real clients of the gateway, at the versions that were measured (docs/design/records/0164-clients-of-the-gateway.md). */
import { join } from 'node:path';
import { install, type Tool } from '../support/tool-cache.ts';

/** The programs of both packages are in packages per platform, and need no Node. */
const platform = `${process.platform}-${process.arch}`;
const rustTargets: Readonly<Record<string, string>> = {
  'linux-x64': 'x86_64-unknown-linux-musl',
  'linux-arm64': 'aarch64-unknown-linux-musl',
  'darwin-x64': 'x86_64-apple-darwin',
  'darwin-arm64': 'aarch64-apple-darwin',
};

/** Returns the path of the program, or undefined if it cannot be installed here. */
export function claudeCode(): Promise<string | undefined> {
  return client(
    { name: 'claude-code', from: 'npm', packages: ['@anthropic-ai/claude-code@2.1.325'] },
    `node_modules/@anthropic-ai/claude-code-${platform}/claude`,
  );
}

export function codex(): Promise<string | undefined> {
  return client(
    { name: 'codex', from: 'npm', packages: ['@openai/codex@0.166.0'] },
    `node_modules/@openai/codex-${platform}/vendor/${rustTargets[platform]}/bin/codex`,
  );
}

/** Returns the Python interpreter that has the SDKs. */
export function pythonSdks(): Promise<string | undefined> {
  const packages = ['openai==3.49.0', 'anthropic==2.8.0', 'langchain-openai==1.7.3'];
  return client({ name: 'python-sdks', from: 'PyPI', packages }, 'bin/python');
}

/** Returns the directory that has Google's SDK for Node. */
export function googleNodeSdk(): Promise<string | undefined> {
  return client({ name: 'google-node-sdk', from: 'npm', packages: ['@google/genai@3.1.0'] }, '');
}

/** Returns the program of Gemini CLI, which runs on Node. */
export function geminiCli(): Promise<string | undefined> {
  return client(
    { name: 'gemini-cli', from: 'npm', packages: ['@google/gemini-cli@0.61.0'] },
    'node_modules/.bin/gemini',
  );
}

/** Returns the directory that has Anthropic's SDK for Vertex AI. */
export function anthropicVertexSdk(): Promise<string | undefined> {
  const packages = ['@anthropic-ai/vertex-sdk@1.1.3'];
  return client({ name: 'anthropic-vertex-sdk', from: 'npm', packages }, '');
}

/** Returns the Python interpreter that has the SDK of Google. */
export function googlePythonSdk(): Promise<string | undefined> {
  const packages = ['google-genai==3.3.0'];
  return client({ name: 'google-python-sdk', from: 'PyPI', packages }, 'bin/python');
}

/** Returns the directory that has the SDK of AWS for Node. */
export function amazonNodeSdk(): Promise<string | undefined> {
  const packages = ['@aws-sdk/client-bedrock-runtime@3.1162.0'];
  return client({ name: 'amazon-node-sdk', from: 'npm', packages }, '');
}

/** Returns the Python interpreter that has the SDK of AWS. */
export function amazonPythonSdk(): Promise<string | undefined> {
  return client({ name: 'amazon-python-sdk', from: 'PyPI', packages: ['boto3==1.44.5'] }, 'bin/python');
}

/** Returns the Python interpreter that has the SDK of OpenTelemetry. */
export function pythonTelemetry(): Promise<string | undefined> {
  const packages = ['opentelemetry-sdk==1.45.1', 'opentelemetry-exporter-otlp-proto-http==1.45.1'];
  return client({ name: 'python-telemetry', from: 'PyPI', packages }, 'bin/python');
}

/** Returns the Python interpreter that has the validator of FOCUS. */
export function focusValidator(): Promise<string | undefined> {
  const packages = ['focus-validator==2.2.1', 'duckdb==1.5.6', 'polars==1.44.2', 'pyarrow==21.0.0'];
  return client({ name: 'focus-validator', from: 'PyPI', packages, python: '3.12' }, 'bin/python');
}

/** Returns the path of the program. A client that is missing is a message, or a failure if PURSER_TEST_REQUIRE_ALL is set. */
export async function client(tool: Tool, program: string): Promise<string | undefined> {
  const installed = await install(tool);
  if ('directory' in installed) {
    return join(installed.directory, program);
  }
  if (process.env.PURSER_TEST_REQUIRE_ALL === '1') {
    throw new Error(`${installed.missing} (PURSER_TEST_REQUIRE_ALL is set)`);
  }
  process.stderr.write(`Not tested: ${installed.missing}\n`);
  return undefined;
}
