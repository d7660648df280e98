"""Makes calls to a provider with the SDKs of Python. The first argument names the calls, the others are the instrumentations."""

import asyncio
import base64
import importlib
import os
import sys

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

PROVIDER = os.environ["PROVIDER_URL"]
OPENAI_URL = f"{PROVIDER}/v1"
QUESTION = [{"role": "user", "content": "Say hello"}]
CHAT_MODEL = "gpt-5-mini"
AUDIO_MODEL = "gpt-audio"
CLAUDE = "claude-sonnet-4-5"
GEMINI = "gemini-2.5-flash"


def exporter():
    endpoint = f"{PROVIDER}/v1/traces"
    try:
        from opentelemetry.exporter.otlp.json.http.trace_exporter import OTLPSpanExporter
    except ImportError:
        return OlderExporter(endpoint)
    return OTLPSpanExporter(endpoint=endpoint)


class OlderExporter(SpanExporter):
    """Sends what the exporter for Protobuf would send, as JSON: older versions of the SDK have no exporter for it."""

    def __init__(self, endpoint):
        self.endpoint = endpoint

    def export(self, spans):
        import requests
        from google.protobuf.json_format import MessageToDict
        from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

        body = MessageToDict(encode_spans(spans))
        for resource in body["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    for name in {"traceId", "spanId", "parentSpanId"} & span.keys():
                        span[name] = base64.b64decode(span[name]).hex()
        requests.post(self.endpoint, json=body, timeout=10)
        return SpanExportResult.SUCCESS


tracing = TracerProvider(resource=Resource({"service.name": "recorded"}))
tracing.add_span_processor(SimpleSpanProcessor(exporter()))
trace.set_tracer_provider(tracing)


def weather(city: str) -> str:
    """The weather of a city."""
    return f"It is sunny in {city}."


def openai_calls():
    from openai import OpenAI

    call_openai(OpenAI(base_url=OPENAI_URL, api_key="sk-recorded"))


def call_openai(client):
    client.chat.completions.create(model=CHAT_MODEL, messages=QUESTION)
    for _ in client.chat.completions.create(
        model=CHAT_MODEL, messages=QUESTION, stream=True, stream_options={"include_usage": True}
    ):
        pass
    client.chat.completions.create(model=AUDIO_MODEL, messages=QUESTION)
    client.responses.create(model=CHAT_MODEL, input="Say hello")
    for _ in client.responses.create(model=CHAT_MODEL, input="Say hello", stream=True):
        pass
    client.embeddings.create(model="text-embedding-3-small", input="hello")


def anthropic_calls():
    from anthropic import Anthropic

    client = Anthropic(base_url=PROVIDER, api_key="sk-recorded")
    client.messages.create(model=CLAUDE, max_tokens=500, messages=QUESTION)
    with client.messages.stream(model=CLAUDE, max_tokens=500, messages=QUESTION) as stream:
        stream.get_final_message()


def google_calls():
    from google import genai

    client = genai.Client(api_key="recorded", http_options=genai.types.HttpOptions(base_url=PROVIDER))
    client.models.generate_content(model=GEMINI, contents="Say hello")
    for _ in client.models.generate_content_stream(model=GEMINI, contents="Say hello"):
        pass
    asyncio.run(client.aio.models.generate_content(model=GEMINI, contents="Say hello"))


def langchain_calls():
    from langchain.agents import create_agent
    from langchain_anthropic import ChatAnthropic
    from langchain_openai import ChatOpenAI

    chat = ChatOpenAI(base_url=OPENAI_URL, api_key="sk-recorded", model=CHAT_MODEL)
    claude = ChatAnthropic(base_url=PROVIDER, api_key="sk-recorded", model=CLAUDE, max_tokens=500)
    chat.invoke("Say hello")
    for _ in chat.stream("Say hello", stream_usage=True):
        pass
    claude.invoke("Say hello")
    agent = create_agent(model=claude, tools=[weather])
    agent.invoke({"messages": [{"role": "user", "content": "The weather of Paris?"}]})


def pydantic_ai_calls():
    from anthropic import AsyncAnthropic
    from pydantic_ai import Agent
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.anthropic import AnthropicProvider
    from pydantic_ai.providers.openai import OpenAIProvider

    try:
        from pydantic_ai.models.openai import OpenAIChatModel
    except ImportError:
        from pydantic_ai.models.openai import OpenAIModel as OpenAIChatModel

    Agent.instrument_all()
    openai = OpenAIProvider(base_url=OPENAI_URL, api_key="sk-recorded")
    anthropic = AsyncAnthropic(base_url=PROVIDER, api_key="sk-recorded")
    claude = AnthropicModel(CLAUDE, provider=AnthropicProvider(anthropic_client=anthropic))

    async def run():
        await Agent(OpenAIChatModel(CHAT_MODEL, provider=openai)).run("Say hello")
        await Agent(OpenAIChatModel(AUDIO_MODEL, provider=openai)).run("Say hello")
        await Agent(OpenAIResponsesModel(CHAT_MODEL, provider=openai)).run("Say hello")
        async with Agent(claude).run_stream("Say hello") as stream:
            await stream.get_output()
        await Agent(claude, tools=[weather]).run("The weather of Paris?")

    asyncio.run(run())


def litellm_calls():
    import litellm
    from litellm.integrations.opentelemetry import OpenTelemetry

    litellm.callbacks = [OpenTelemetry(tracer_provider=tracing)]
    chat = {"model": f"openai/{CHAT_MODEL}", "api_base": OPENAI_URL, "api_key": "sk-recorded"}
    claude = {"model": f"anthropic/{CLAUDE}", "api_base": PROVIDER, "api_key": "sk-recorded"}

    async def run():
        await litellm.acompletion(**chat, messages=QUESTION)
        await litellm.acompletion(**claude, messages=QUESTION, max_tokens=500)
        # Its callbacks run in the background.
        await asyncio.sleep(2)

    asyncio.run(run())


def langfuse_calls():
    from langfuse import Langfuse
    from langfuse.openai import OpenAI

    Langfuse(public_key="pk", secret_key="sk", base_url=PROVIDER, tracer_provider=tracing)
    call_openai(OpenAI(base_url=OPENAI_URL, api_key="sk-recorded"))


def langfuse_langchain_calls():
    from langfuse import Langfuse
    from langfuse.langchain import CallbackHandler
    from langchain_anthropic import ChatAnthropic
    from langchain_openai import ChatOpenAI

    Langfuse(public_key="pk", secret_key="sk", base_url=PROVIDER, tracer_provider=tracing)
    config = {"callbacks": [CallbackHandler()]}
    ChatOpenAI(base_url=OPENAI_URL, api_key="sk-recorded", model=CHAT_MODEL).invoke("Say hello", config=config)
    claude = ChatAnthropic(base_url=PROVIDER, api_key="sk-recorded", model=CLAUDE, max_tokens=500)
    claude.invoke("Say hello", config=config)


for path in sys.argv[2:]:
    module, name = path.split(":")
    getattr(importlib.import_module(module), name)().instrument()
globals()[f"{sys.argv[1]}_calls"]()
tracing.force_flush()
