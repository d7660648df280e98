"""Makes a call with boto3, and prints what it returned as JSON. The endpoint and the credentials are in its environment variables."""

import json
import sys

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

mode, model = sys.argv[1:]
client = boto3.client("bedrock-runtime", config=Config(retries={"total_max_attempts": 1}))
question = "Say hello to the wörld"
call_of = {
    "modelId": model,
    "messages": [{"role": "user", "content": [{"text": question}]}],
    "inferenceConfig": {"maxTokens": 50},
}
schema = {"json": {"type": "object", "properties": {"q": {"type": "string"}}}}
body = json.dumps(
    {
        "anthropic_version": "bedrock-2023-05-31",
        "max_tokens": 50,
        "messages": [{"role": "user", "content": question}],
    }
)


def call():
    if mode == "stream":
        events = client.converse_stream(**call_of)["stream"]
        return [one["contentBlockDelta"]["delta"]["text"] for one in events if "contentBlockDelta" in one]
    if mode == "tools":
        tools = {"tools": [{"toolSpec": {"name": "lookup", "inputSchema": schema}}]}
        content = client.converse(**call_of, toolConfig=tools)["output"]["message"]["content"]
        return [block["toolUse"]["input"] for block in content]
    if mode == "invoke":
        return json.loads(client.invoke_model(modelId=model, body=body)["body"].read())["content"][0]["text"]
    if mode == "invoke-stream":
        events = client.invoke_model_with_response_stream(modelId=model, body=body)["body"]
        chunks = [json.loads(one["chunk"]["bytes"]) for one in events]
        return [one["delta"]["text"] for one in chunks if one["type"] == "content_block_delta"]
    if mode == "count":
        return client.count_tokens(modelId=model, input={"converse": {"messages": call_of["messages"]}})["inputTokens"]
    return client.converse(**call_of)["output"]["message"]["content"][0]["text"]


try:
    result = {"value": call()}
except ClientError as error:
    answer = error.response
    result = {
        "name": answer["Error"]["Code"],
        "message": answer["Error"]["Message"],
        "status": answer["ResponseMetadata"]["HTTPStatusCode"],
    }
print(json.dumps(result))
