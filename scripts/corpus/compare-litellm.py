"""Compares the costs in `test/corpus` with those that LiteLLM computes for the same responses, and lists each difference with its reason.

    python3 -m venv ENVIRONMENT && ENVIRONMENT/bin/pip install litellm
    ENVIRONMENT/bin/python scripts/corpus/compare-litellm.py

Ends with status 1 if a difference has no reason. `npm run test:corpus` shows that the service charges the costs of the corpus.
"""

import collections
import json
import os
import pathlib
import sys
from decimal import Decimal
from importlib.metadata import version

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm  # noqa: E402
from litellm.llms.anthropic.chat.transformation import AnthropicConfig  # noqa: E402
from litellm.types.llms.openai import ResponsesAPIResponse  # noqa: E402
from litellm.types.utils import EmbeddingResponse, ModelResponse, Usage  # noqa: E402

litellm.suppress_debug_info = True
CORPUS = pathlib.Path(__file__).resolve().parents[2] / "test" / "corpus"
# The corpus rounds a cost up to a billionth of a dollar; LiteLLM does not round.
TOLERANCE = Decimal("0.0000000011")
PROVIDERS = {"together": "together_ai"}


def merged(entry):
    """Returns the response as one object; that of a stream from its events."""
    if "response" in entry:
        return entry["response"]
    whole, usage, items = {}, {}, []
    for _, data in entry["events"]:
        if not isinstance(data, dict):
            continue
        part = data.get("response") or data.get("message") or (data if entry["api"] == "chat" else {})
        whole.update({name: value for name, value in part.items() if value not in (None, "") and name != "usage"})
        counts = part.get("usage") or data.get("usage") or (data.get("x_groq") or {}).get("usage") or {}
        usage = {**(usage if entry["api"] == "messages" else {}), **counts} or usage
        if data.get("type") == "response.output_item.done":
            items.append(data["item"])
    return {**whole, "usage": usage, **({"output": items} if entry["api"] == "responses" else {})}


def litellm_response(entry, response):
    usage = response.get("usage")
    if entry["api"] == "messages":
        counted = AnthropicConfig().calculate_usage(usage_object=usage, reasoning_content=None)
        return ModelResponse(model=response["model"], usage=counted)
    if entry["api"] == "responses":
        plain = {"id": "resp_0", "created_at": 1, "output": [], "object": "response", "tools": [], "parallel_tool_calls": False}
        return ResponsesAPIResponse(**{**plain, **response})
    if entry["api"] == "embeddings":
        counts = {"prompt_tokens": 0, **usage}
        return EmbeddingResponse(model=response.get("model"), usage=Usage(**counts))
    return ModelResponse(model=response.get("model"), choices=[], usage=Usage(**usage))


def litellm_cost(entry, response):
    """Returns the cost and the rates; None if LiteLLM has no price, charges nothing, or cannot read the response."""
    provider = PROVIDERS.get(entry["provider"], entry["provider"])
    for model in dict.fromkeys((response.get("model"), entry["model"])):
        try:
            cost = litellm.completion_cost(
                completion_response=litellm_response(entry, response),
                model=model,
                custom_llm_provider=provider,
                call_type={"embeddings": "embedding", "responses": "responses"}.get(entry["api"], "completion"),
                service_tier=entry["expected"].get("tier"),
            )
            if cost:
                return Decimal(repr(cost)), rates_of(model, provider)
        except Exception:  # noqa: BLE001, S112
            continue
    return None, None


def rates_of(model, provider):
    info = litellm.get_model_info(model=model, custom_llm_provider=provider)
    rate = lambda name: Decimal(repr(info.get(name) or 0)) * 1_000_000  # noqa: E731
    return {
        "input": rate("input_cost_per_token"),
        "cached_input": rate("cache_read_input_token_cost"),
        "output": rate("output_cost_per_token"),
        "is_timed": bool(litellm.model_cost.get(info["key"], {}).get("off_peak_pricing")),
    }


def reason_of(entry, price, rates):
    """Returns the reason of a difference, and whose cost follows the documentation."""
    expected = entry["expected"]
    tokens = expected["tokens"]
    usage = merged(entry).get("usage") or {}
    if expected.get("is_stated"):
        return "the provider states the cost, which LiteLLM does not read here", "Purser"
    if any(one.get("type") in ("advisor_message", "compaction", "fallback_message", "message") for one in usage.get("iterations") or []):
        return "iterations (advisors, compactions, fallbacks) are not in the totals that LiteLLM reads", "Purser"
    if rates["is_timed"]:
        return "LiteLLM applies off-peak rates at the time of the comparison; the corpus states no tier `off_peak`", "both, at their times"
    listed = price["rates"]
    differing = [
        kind
        for kind in ("input", "cached_input", "output")
        if kind in listed and rates[kind] and abs(rates[kind] - Decimal(listed[kind])) > Decimal("1e-9")
    ]
    if differing:
        return f"{entry['provider']} has a rate of its own in LiteLLM's list; the corpus has one rate per model", "LiteLLM, and the catalog"
    if set(expected.get("units", {})) - {"web_search"}:
        return "LiteLLM does not charge all tools of this response (files, containers)", "Purser"
    if "web_search" in expected.get("units", {}):
        if entry["api"] == "chat":
            return "LiteLLM finds the search of a chat by annotations, which the corpus leaves out", "both"
        if entry["api"] == "messages":
            return "LiteLLM has no price for searches of this model", "Purser"
        if any((item.get("action") or {}).get("type") in ("open_page", "find_in_page") for item in merged(entry)["output"]):
            return "LiteLLM charges opened pages as searches", "Purser"
    if tokens.get("cache_write_1h"):
        return "LiteLLM has no rate for one-hour cache writes of this model", "Purser"
    details = usage.get("completion_tokens_details") or usage.get("output_tokens_details") or {}
    if details.get("reasoning_tokens") and tokens.get("output", 0) > (usage.get("completion_tokens") or usage.get("output_tokens") or 0):
        return "reasoning is not in the output tokens of this provider, but charged", "Purser"
    if tokens.get("cached_input"):
        return "cached input under a name that LiteLLM does not read", "Purser"
    if entry["provider"] == "voyage":
        return "the response has a total only", "Purser"
    return None, None


def main():
    prices = json.loads((CORPUS / "prices.json").read_text())
    counts = collections.Counter()
    reasons = collections.Counter()
    by_provider = collections.defaultdict(collections.Counter)
    unexplained = []
    for path in sorted(CORPUS.glob("*.ndjson")):
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            if entry["api"] == "gemini":
                # Its usage has other names than those that LiteLLM's cost is computed from.
                continue
            result = compared(entry, prices, reasons, unexplained)
            counts[result] += 1
            by_provider[entry["provider"]][result] += 1
    names = ["equal", "different", "no common price", "no whole usage"]
    print(f"litellm {version('litellm')}: {sum(counts.values())} responses\n")
    print("| provider | " + " | ".join(names) + " |\n|---|" + "---|" * len(names))
    for provider, its in [*sorted(by_provider.items()), ("all", counts)]:
        print(f"| {provider} | " + " | ".join(str(its[name]) for name in names) + " |")
    print("\n| differences | reason | follows the documentation |\n|---|---|---|")
    for (reason, who), count in sorted(reasons.items(), key=lambda item: -item[1]):
        print(f"| {count} | {reason} | {who} |")
    for one in unexplained:
        print(one, file=sys.stderr)
    sys.exit(1 if unexplained else 0)


def compared(entry, prices, reasons, unexplained):
    expected = entry["expected"]
    if expected.get("is_estimated"):
        return "no whole usage"
    response = merged(entry)
    price = prices[expected.get("served_model", entry["model"])]
    theirs, rates = litellm_cost(entry, response)
    if theirs is None or (price["page"] is None and not expected.get("is_stated")):
        return "no common price"
    difference = Decimal(expected["cost_usd"]) - theirs
    if abs(difference) <= TOLERANCE:
        return "equal"
    reason, who = reason_of(entry, price, rates)
    if reason is None:
        unexplained.append(f"{entry['id']} {expected} LiteLLM: {theirs}")
    else:
        reasons[reason, who] += 1
    return "different"


main()
