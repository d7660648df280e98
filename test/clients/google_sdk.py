"""Makes a call with Google's SDK, and prints what it returned as JSON. The base URL and the key are in its environment variables."""

import json
import os
import sys

from google import genai
from google.genai import errors, types

mode, model = sys.argv[1:]
# The base URL of Vertex AI is only read for a client that names its mode.
client = genai.Client(vertexai=os.environ.get("GOOGLE_GENAI_USE_VERTEXAI") == "true" or None)
question = "Say hello to the wörld"
tool = types.Tool(function_declarations=[{"name": "lookup", "parameters": {"type": "OBJECT", "properties": {"q": {"type": "STRING"}}}}])


def call():
    if mode == "stream":
        return [chunk.text for chunk in client.models.generate_content_stream(model=model, contents=question)]
    if mode == "embeddings":
        answer = client.models.embed_content(model=model, contents=["one two", "three"])
        return [embedding.values for embedding in answer.embeddings]
    if mode == "count":
        return client.models.count_tokens(model=model, contents=question).total_tokens
    if mode == "models":
        return [one.name for one in client.models.list()]
    config = types.GenerateContentConfig(max_output_tokens=50, system_instruction="Be brief.")
    if mode == "tools":
        config.tools = [tool]
        calls = client.models.generate_content(model=model, contents=question, config=config).function_calls
        return [one.args for one in calls]
    return client.models.generate_content(model=model, contents=question, config=config).text


try:
    result = {"value": call()}
except errors.APIError as error:
    result = {"status": error.code, "message": error.message, "details": error.details}
print(json.dumps(result))
