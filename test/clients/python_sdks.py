"""Makes a call with an SDK for each line of standard input, a scenario as JSON, and prints the outcome as a line of JSON."""

import hashlib
import json
import sys

question = [{"role": "user", "content": "Say hello to the wörld"}]
schema = {"type": "object", "properties": {"q": {"type": "string"}}}


def error_of(error):
    body = getattr(error, "body", None)
    if isinstance(body, dict):
        body = body.get("error", body)
    return {
        "class": type(error).__name__,
        "status": getattr(error, "status_code", None),
        "code": body.get("code") if isinstance(body, dict) else None,
        "type": body.get("type") if isinstance(body, dict) else None,
        "message": str(error),
    }


def raw(stream, mode):
    """Reads a stream as bytes, or leaves it after its first bytes."""
    digest = hashlib.sha256()
    with stream as response:
        for chunk in response.iter_bytes():
            if mode == "abort":
                return {"left": True}
            digest.update(chunk)
    return {"digest": digest.hexdigest()}


def dump(value):
    return value.model_dump(mode="json", warnings=False)


def final_of(manager, get):
    with manager as stream:
        for _ in stream:
            pass
        return dump(get(stream))


def with_openai(urls, key, model, api, mode):
    from openai import OpenAI

    return with_client(OpenAI(base_url=urls["openai"], api_key=key), model, api, mode)


def with_azure(urls, key, model, api, mode):
    from openai import AzureOpenAI

    client = AzureOpenAI(azure_endpoint=urls["azure"], api_key=key, api_version="2024-10-21")
    return with_client(client, model, api, mode)


def with_client(client, model, api, mode):
    if api == "embeddings":
        return {"value": dump(client.embeddings.create(model=model, input=["one two", "three"]))}
    if api == "responses":
        tool = {"type": "function", "name": "lookup", "parameters": schema, "strict": False}
        calls = client.responses
        body = {"model": model, "input": "Say hello to the wörld"}
        final = lambda stream: stream.get_final_response()
    else:
        tool = {"type": "function", "function": {"name": "lookup", "parameters": schema}}
        calls = client.chat.completions
        body = {"model": model, "messages": question}
        final = lambda stream: stream.get_final_completion()
    return outcome_of(calls, body, tool, final, mode)


def with_anthropic(urls, key, model, api, mode):
    from anthropic import Anthropic

    client = Anthropic(base_url=urls["anthropic"], api_key=key)
    body = {"model": model, "max_tokens": 20_000, "messages": question}
    tool = {"name": "lookup", "input_schema": schema}
    return outcome_of(client.messages, body, tool, lambda stream: stream.get_final_message(), mode)


def outcome_of(calls, body, tool, final, mode):
    if mode in ("digest", "abort"):
        return raw(calls.with_streaming_response.create(**body, stream=True), mode)
    if mode.startswith("tools"):
        body["tools"] = [tool]
    if mode.endswith("stream"):
        return {"value": [dump(event) for event in calls.create(**body, stream=True)]}
    if mode.endswith("helper"):
        return {"value": final_of(calls.stream(**body), final)}
    return {"value": dump(calls.create(**body))}


def with_langchain(urls, key, model, api, mode):
    from langchain_openai import ChatOpenAI, OpenAIEmbeddings

    options = {"model": model, "base_url": urls["openai"], "api_key": key}
    if api == "embeddings":
        # Counting tokens would download a tokenizer.
        embeddings = OpenAIEmbeddings(**options, check_embedding_ctx_length=False)
        return {"value": embeddings.embed_documents(["one two", "three"])}
    chat = ChatOpenAI(**options, use_responses_api=api == "responses")
    if mode == "abort":
        for _ in chat.stream("Say hello to the wörld"):
            return {"left": True}
    if mode.startswith("tools"):
        chat = chat.bind_tools([{"name": "lookup", "description": "Looks up", "parameters": schema}])
    if mode.endswith("stream"):
        return {"value": [message_of(chunk) for chunk in chat.stream("Say hello to the wörld")]}
    return {"value": message_of(chat.invoke("Say hello to the wörld"))}


def message_of(message):
    """LangChain gives messages and parts random ids."""
    return json.loads(json.dumps(dump(message)), object_hook=without_random_id)


def without_random_id(fields):
    return {name: value for name, value in fields.items() if name != "id" or not str(value).startswith(("lc_", "run-"))}


sdks = {"openai": with_openai, "azure": with_azure, "anthropic": with_anthropic, "langchain": with_langchain}
for line in sys.stdin:
    scenario = json.loads(line)
    call = sdks[scenario.pop("sdk")]
    try:
        outcome = call(**scenario)
    except Exception as error:
        outcome = {"error": error_of(error)}
    print(json.dumps(outcome), flush=True)
