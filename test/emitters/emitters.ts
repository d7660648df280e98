/** The emitters whose spans are recorded, each with the packages that it needs. */
import type { Tool } from '../support/tool-cache.ts';

export interface Emitter {
  /** Name of the recording. */
  readonly name: string;
  /** The package that emits the spans. */
  readonly package: string;
  readonly from: Tool['from'];
  readonly packages: readonly string[];
  /** Arguments of the program: the calls, and the instrumentations. */
  readonly arguments: readonly string[];
}

const pythonExporter = ['opentelemetry-sdk==1.45.2', 'opentelemetry-exporter-otlp-json-http==0.66b1'];
const olderExporter = [
  'opentelemetry-sdk==1.30.0',
  'opentelemetry-exporter-otlp-proto-common==1.30.0',
  'requests==2.34.2',
];
const openai = 'openai==3.51.0';
const anthropic = 'anthropic==2.10.0';
const google = 'google-genai==3.3.0';
const langchain = [
  'langchain==1.4.7',
  'langchain-openai==1.7.3',
  'langchain-anthropic==1.7.7',
  openai,
  anthropic,
];
const scripts = ['@opentelemetry/sdk-trace-node@2.12.0', '@opentelemetry/exporter-trace-otlp-http@0.223.1'];

const langchainJs = ['@langchain/core@1.2.13', '@langchain/openai@1.6.0', '@langchain/anthropic@1.5.11'];

export const emitters: readonly Emitter[] = [
  {
    name: 'genai-openai',
    package: 'opentelemetry-instrumentation-genai-openai==1.3b0',
    from: 'PyPI',
    packages: [openai, ...pythonExporter],
    arguments: ['openai', 'opentelemetry.instrumentation.genai.openai:OpenAIInstrumentor'],
  },
  {
    name: 'genai-anthropic',
    package: 'opentelemetry-instrumentation-genai-anthropic==1.3b0',
    from: 'PyPI',
    packages: [anthropic, ...pythonExporter],
    arguments: ['anthropic', 'opentelemetry.instrumentation.genai.anthropic:AnthropicInstrumentor'],
  },
  {
    name: 'genai-langchain',
    package: 'opentelemetry-instrumentation-genai-langchain==1.3b0',
    from: 'PyPI',
    packages: [...langchain, ...pythonExporter],
    arguments: ['langchain', 'opentelemetry.instrumentation.genai.langchain:LangChainInstrumentor'],
  },
  {
    name: 'openai-v2',
    package: 'opentelemetry-instrumentation-openai-v2==2.0b0',
    from: 'PyPI',
    packages: ['openai==1.109.1', ...olderExporter],
    arguments: ['openai', 'opentelemetry.instrumentation.openai_v2:OpenAIInstrumentor'],
  },
  {
    name: 'anthropic-sdk',
    package: anthropic,
    from: 'PyPI',
    packages: pythonExporter,
    arguments: ['anthropic'],
  },
  {
    name: 'openllmetry-openai',
    package: 'opentelemetry-instrumentation-openai==0.62.4',
    from: 'PyPI',
    packages: [openai, ...pythonExporter],
    arguments: ['openai', 'opentelemetry.instrumentation.openai:OpenAIInstrumentor'],
  },
  {
    name: 'openllmetry-anthropic',
    package: 'opentelemetry-instrumentation-anthropic==0.62.4',
    from: 'PyPI',
    packages: [anthropic, ...pythonExporter],
    arguments: ['anthropic', 'opentelemetry.instrumentation.anthropic:AnthropicInstrumentor'],
  },
  {
    name: 'openllmetry-langchain',
    package: 'opentelemetry-instrumentation-langchain==0.62.4',
    from: 'PyPI',
    packages: [...langchain, ...pythonExporter],
    arguments: ['langchain', 'opentelemetry.instrumentation.langchain:LangchainInstrumentor'],
  },
  {
    name: 'openllmetry-openai-0.40',
    package: 'opentelemetry-instrumentation-openai==0.40.14',
    from: 'PyPI',
    packages: ['openai==1.109.1', ...olderExporter],
    arguments: ['openai', 'opentelemetry.instrumentation.openai:OpenAIInstrumentor'],
  },
  {
    name: 'openllmetry-anthropic-0.40',
    package: 'opentelemetry-instrumentation-anthropic==0.40.14',
    from: 'PyPI',
    packages: ['anthropic==0.49.0', ...olderExporter],
    arguments: ['anthropic', 'opentelemetry.instrumentation.anthropic:AnthropicInstrumentor'],
  },
  {
    name: 'openinference-openai',
    package: 'openinference-instrumentation-openai==0.1.66',
    from: 'PyPI',
    packages: [openai, ...pythonExporter],
    arguments: ['openai', 'openinference.instrumentation.openai:OpenAIInstrumentor'],
  },
  {
    name: 'openinference-anthropic',
    package: 'openinference-instrumentation-anthropic==3.1.0',
    from: 'PyPI',
    packages: [anthropic, ...pythonExporter],
    arguments: ['anthropic', 'openinference.instrumentation.anthropic:AnthropicInstrumentor'],
  },
  {
    name: 'openinference-anthropic-0.1',
    package: 'openinference-instrumentation-anthropic==0.1.16',
    from: 'PyPI',
    packages: ['anthropic==0.49.0', ...olderExporter],
    arguments: ['anthropic', 'openinference.instrumentation.anthropic:AnthropicInstrumentor'],
  },
  {
    name: 'openinference-langchain',
    package: 'openinference-instrumentation-langchain==0.1.80',
    from: 'PyPI',
    packages: [...langchain, ...pythonExporter],
    arguments: ['langchain', 'openinference.instrumentation.langchain:LangChainInstrumentor'],
  },
  {
    name: 'pydantic-ai',
    package: 'pydantic-ai-slim==2.66.0',
    from: 'PyPI',
    packages: [openai, anthropic, ...pythonExporter],
    arguments: ['pydantic_ai'],
  },
  {
    name: 'pydantic-ai-0.8',
    package: 'pydantic-ai-slim==0.8.1',
    from: 'PyPI',
    packages: ['openai==1.109.1', 'anthropic==0.64.0', ...olderExporter],
    arguments: ['pydantic_ai'],
  },
  {
    name: 'pydantic-ai-0.2',
    package: 'pydantic-ai-slim==0.2.20',
    from: 'PyPI',
    packages: ['openai==1.82.1', 'anthropic==0.52.2', ...olderExporter],
    arguments: ['pydantic_ai'],
  },
  {
    name: 'google-genai',
    package: 'opentelemetry-instrumentation-google-genai==1.3b0',
    from: 'PyPI',
    packages: ['google-genai==2.34.0', ...pythonExporter],
    arguments: ['google', 'opentelemetry.instrumentation.google_genai:GoogleGenAiSdkInstrumentor'],
  },
  {
    name: 'openinference-google-genai',
    package: 'openinference-instrumentation-google-genai==1.4.14',
    from: 'PyPI',
    packages: [google, ...pythonExporter],
    arguments: ['google', 'openinference.instrumentation.google_genai:GoogleGenAIInstrumentor'],
  },
  {
    name: 'openllmetry-google',
    package: 'opentelemetry-instrumentation-google-generativeai==0.62.4',
    from: 'PyPI',
    packages: [google, ...pythonExporter],
    arguments: ['google', 'opentelemetry.instrumentation.google_generativeai:GoogleGenerativeAiInstrumentor'],
  },
  {
    name: 'litellm',
    package: 'litellm==1.106.2',
    from: 'PyPI',
    packages: pythonExporter,
    arguments: ['litellm'],
  },
  {
    name: 'langfuse-openai',
    package: 'langfuse==5.0.4',
    from: 'PyPI',
    packages: [openai, ...pythonExporter],
    arguments: ['langfuse'],
  },
  {
    name: 'langfuse-langchain',
    package: 'langfuse==5.0.4',
    from: 'PyPI',
    packages: [...langchain, ...pythonExporter],
    arguments: ['langfuse_langchain'],
  },
  {
    name: 'ai-sdk-4',
    package: 'ai@4.3.19',
    from: 'npm',
    packages: ['@ai-sdk/openai@1.3.24', '@ai-sdk/anthropic@1.2.12', 'zod@3.25.76', ...scripts],
    arguments: ['aiSdk'],
  },
  {
    name: 'ai-sdk-5',
    package: 'ai@5.0.277',
    from: 'npm',
    packages: ['@ai-sdk/openai@2.0.131', '@ai-sdk/anthropic@2.0.112', 'zod@4.6.7', ...scripts],
    arguments: ['aiSdk'],
  },
  {
    name: 'ai-sdk-6',
    package: 'ai@6.0.326',
    from: 'npm',
    packages: ['@ai-sdk/openai@3.0.141', '@ai-sdk/anthropic@3.0.138', 'zod@4.6.7', ...scripts],
    arguments: ['aiSdk'],
  },
  {
    name: 'ai-sdk-7',
    package: '@ai-sdk/otel@1.0.173',
    from: 'npm',
    packages: ['ai@7.0.173', '@ai-sdk/openai@4.0.118', '@ai-sdk/anthropic@4.0.105', 'zod@4.6.7', ...scripts],
    arguments: ['aiSdk'],
  },
  {
    name: 'js-openai',
    package: '@opentelemetry/instrumentation-openai@0.20.0',
    from: 'npm',
    packages: ['openai@6.32.0', ...scripts],
    arguments: ['openai', '@opentelemetry/instrumentation-openai:OpenAIInstrumentation'],
  },
  {
    name: 'js-openllmetry-openai',
    package: '@traceloop/instrumentation-openai@0.27.0',
    from: 'npm',
    packages: ['openai@6.32.0', ...scripts],
    arguments: ['openai', '@traceloop/instrumentation-openai:OpenAIInstrumentation'],
  },
  {
    name: 'js-openllmetry-anthropic',
    package: '@traceloop/instrumentation-anthropic@0.27.0',
    from: 'npm',
    packages: ['@anthropic-ai/sdk@0.80.0', ...scripts],
    arguments: ['anthropic', '@traceloop/instrumentation-anthropic:AnthropicInstrumentation'],
  },
  {
    name: 'js-openllmetry-langchain',
    package: '@traceloop/instrumentation-langchain@0.27.0',
    from: 'npm',
    packages: [...langchainJs, ...scripts],
    arguments: ['langchain', '@traceloop/instrumentation-langchain:LangChainInstrumentation'],
  },
  {
    name: 'js-openinference-openai',
    package: '@arizeai/openinference-instrumentation-openai@4.2.7',
    from: 'npm',
    packages: ['openai@6.32.0', ...scripts],
    arguments: ['openai', '@arizeai/openinference-instrumentation-openai:OpenAIInstrumentation'],
  },
  {
    name: 'js-openinference-anthropic',
    package: '@arizeai/openinference-instrumentation-anthropic@0.2.8',
    from: 'npm',
    packages: ['@anthropic-ai/sdk@0.120.0', ...scripts],
    arguments: ['anthropic', '@arizeai/openinference-instrumentation-anthropic:AnthropicInstrumentation'],
  },
  {
    name: 'js-openinference-langchain',
    package: '@arizeai/openinference-instrumentation-langchain@4.1.1',
    from: 'npm',
    packages: [...langchainJs, ...scripts],
    arguments: [
      'langchain',
      '@arizeai/openinference-instrumentation-langchain:LangChainInstrumentation:@langchain/core/callbacks/manager',
    ],
  },
  {
    name: 'js-langfuse-openai',
    package: '@langfuse/otel@5.11.1',
    from: 'npm',
    packages: ['@langfuse/openai@5.11.1', 'openai@6.32.0', ...scripts],
    arguments: ['langfuseOpenai'],
  },
  {
    name: 'js-langfuse-langchain',
    package: '@langfuse/otel@5.11.1',
    from: 'npm',
    packages: ['@langfuse/langchain@5.11.1', ...langchainJs, ...scripts],
    arguments: ['langfuseLangchain'],
  },
];
