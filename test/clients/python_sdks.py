"""Makes a call with an SDK for each line of standard input, a scenario as JSON, and prints the outcome as a line of JSON."""

import hashlib
import json
import sys

question = [{"role": "user", "content": "Say hello to the world"}]
schema = {"type": "object", "properties": {"q": {"type": "string"}}}


def error_of(error):
    body = getattr(error, "body", None)
    if isinstance(body, dict):
        body = body.get("error", body)
    return {
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


def with_openai(url, key, model, api, mode):
    from openai import OpenAI

    client = OpenAI(base_url=f"{url}/openai/v1", api_key=key)
    if api == "embeddings":
        data = client.embeddings.create(model=model, input=["one two", "three"]).data
        return {"vectors": len(data)}
    if api == "responses":
        tool = {"type": "function", "name": "lookup", "parameters": schema}
        calls = client.responses
        body = {"model": model, "input": "Say hello to the world"}
        text = lambda answer: answer.output_text
        tools = lambda answer: [item.name for item in answer.output if item.type == "function_call"]
        deltas = lambda events: "".join(e.delta for e in events if e.type == "response.output_text.delta")
    else:
        tool = {"type": "function", "function": {"name": "lookup", "parameters": schema}}
        calls = client.chat.completions
        body = {"model": model, "messages": question}
        text = lambda answer: answer.choices[0].message.content
        tools = lambda answer: [call.function.name for call in answer.choices[0].message.tool_calls or []]
        deltas = lambda events: "".join(e.choices[0].delta.content or "" for e in events)
    if mode in ("digest", "abort"):
        return raw(calls.with_streaming_response.create(**body, stream=True), mode)
    if mode == "stream":
        return {"text": deltas(calls.create(**body, stream=True))}
    if mode == "tools":
        return {"tools": tools(calls.create(**body, tools=[tool]))}
    return {"text": text(calls.create(**body))}


def with_anthropic(url, key, model, api, mode):
    from anthropic import Anthropic

    client = Anthropic(base_url=f"{url}/anthropic", api_key=key)
    body = {"model": model, "max_tokens": 50, "messages": question}
    if mode in ("digest", "abort"):
        return raw(client.messages.with_streaming_response.create(**body, stream=True), mode)
    if mode == "stream":
        with client.messages.stream(**body) as stream:
            return {"text": "".join(stream.text_stream)}
    if mode == "tools":
        answer = client.messages.create(**body, tools=[{"name": "lookup", "input_schema": schema}])
        return {"tools": [block.name for block in answer.content if block.type == "tool_use"]}
    return {"text": client.messages.create(**body).content[0].text}


def with_langchain(url, key, model, api, mode):
    from langchain_openai import ChatOpenAI, OpenAIEmbeddings

    options = {"model": model, "base_url": f"{url}/openai/v1", "api_key": key}
    if api == "embeddings":
        # Counting tokens would download a tokenizer.
        embeddings = OpenAIEmbeddings(**options, check_embedding_ctx_length=False)
        return {"vectors": len(embeddings.embed_documents(["one two", "three"]))}
    chat = ChatOpenAI(**options, use_responses_api=api == "responses")
    if mode == "abort":
        for _ in chat.stream("Say hello to the world"):
            return {"left": True}
    if mode == "stream":
        return {"text": "".join(chunk.text for chunk in chat.stream("Say hello to the world"))}
    if mode == "tools":
        lookup = {"name": "lookup", "description": "Looks up", "parameters": schema}
        return {"tools": [call["name"] for call in chat.bind_tools([lookup]).invoke("Look up x").tool_calls]}
    return {"text": chat.invoke("Say hello to the world").text}


sdks = {"openai": with_openai, "anthropic": with_anthropic, "langchain": with_langchain}
for line in sys.stdin:
    scenario = json.loads(line)
    call = sdks[scenario.pop("sdk")]
    try:
        outcome = call(**scenario)
    except Exception as error:
        outcome = {"error": error_of(error)}
    print(json.dumps(outcome), flush=True)
