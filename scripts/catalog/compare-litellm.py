"""Compares the costs of `sample-costs.ts` with LiteLLM's, to a billionth of a dollar, and lists every deviation with its reason.

    tsx scripts/catalog/sample-costs.ts > samples.ndjson
    python3 -m venv ENVIRONMENT && ENVIRONMENT/bin/pip install litellm==VERSION
    ENVIRONMENT/bin/python scripts/catalog/compare-litellm.py samples.ndjson

VERSION is the one that the catalog was made from (`sources.litellm` of assets/catalog.json). Ends with status 1 if a deviation has no
reason.
"""

import collections
import json
import os
import sys
from datetime import datetime, timezone
from decimal import Decimal

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm  # noqa: E402
from litellm.cost_calculator import (  # noqa: E402
    batch_cost_calculator,
    cost_per_token,
    default_video_cost_calculator,
)
from litellm.litellm_core_utils.llm_cost_calc import utils as llm_utils  # noqa: E402
from litellm.litellm_core_utils.llm_cost_calc.tool_call_cost_tracking import (  # noqa: E402
    StandardBuiltInToolCostTracking,
)
from litellm.types.utils import ModelResponse, Usage  # noqa: E402

# Purser rounds a cost up to a billionth of a dollar; LiteLLM does not round, and its floats are inexact beyond that.
TOLERANCE = Decimal("0.000000001")

PREFIXES = {"gemini": "gemini/", "mistral": "mistral/", "deepseek": "deepseek/", "cohere": "cohere/"}
PROVIDERS = {
    "openai": "openai",
    "text-completion-openai": "text-completion-openai",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "vertex_ai-language-models": "vertex_ai",
    "vertex_ai-embedding-models": "vertex_ai",
    "mistral": "mistral",
    "deepseek": "deepseek",
    "cohere": "cohere",
    "cohere_chat": "cohere_chat",
}

# Rates that depend on the time of day must not decide about the result.
llm_utils.current_billing_time = lambda: datetime(2026, 11, 16, 20, 30, tzinfo=timezone.utc)


def entries_by_model():
    """Names of the catalog, as make-catalog.ts assigns them: providers' own entries before those of other clouds."""
    entries = {}
    listed = sorted(
        litellm.model_cost.items(), key=lambda item: str(item[1].get("litellm_provider")).startswith("vertex_ai")
    )
    for key, entry in listed:
        provider = entry.get("litellm_provider")
        if provider not in PROVIDERS:
            continue
        prefix = PREFIXES.get(provider, "")
        model = key[len(prefix) :] if prefix and key.startswith(prefix) else key
        rates = [value for field, value in entry.items() if "cost_per" in field or "token_cost" in field]
        is_free = entry.get("mode") != "moderation" and not any(rates)
        if "/" not in model and entry.get("mode") != "search" and not is_free:
            entries.setdefault(model, (key, entry))
    return entries


def usage_of(sample, entry):
    usage = sample["usage"]
    writes = usage["cache_write_tokens"] + usage["cache_write_1h_tokens"]
    details = {
        "cached_tokens": usage["cached_input_tokens"],
        "audio_tokens": usage["audio_input_tokens"],
        "cache_creation_tokens": writes,
    }
    if usage["cache_write_1h_tokens"] > 0:
        details["cache_creation_token_details"] = {
            "ephemeral_5m_input_tokens": usage["cache_write_tokens"],
            "ephemeral_1h_input_tokens": usage["cache_write_1h_tokens"],
        }
    params = {}
    if entry["litellm_provider"] == "anthropic":
        if usage.get("region"):
            params["inference_geo"] = usage["region"]
        if usage.get("service_tier") == "fast":
            params["speed"] = "fast"
    units = usage.get("units", {})
    if "web_search" in units:
        params["server_tool_use"] = {"web_search_requests": units["web_search"]}
    if "maps_query" in units:
        details["google_maps_grounding_requests"] = units["maps_query"]
    completion = {"audio_tokens": usage["audio_output_tokens"]} if usage["audio_output_tokens"] else None
    if entry.get("mode") == "image_generation" and "output_cost_per_image_token" in entry:
        # Purser charges all output of image models as images.
        completion = {"image_tokens": usage["output_tokens"]}
    return Usage(
        prompt_tokens=usage["input_tokens"],
        completion_tokens=usage["output_tokens"],
        total_tokens=usage["input_tokens"] + usage["output_tokens"],
        prompt_tokens_details=details,
        completion_tokens_details=completion,
        **params,
    )


def litellm_cost(sample, key, entry):
    provider = PROVIDERS[entry["litellm_provider"]]
    usage = sample["usage"]
    units = usage.get("units", {})
    if "character" in units:
        return sum(
            cost_per_token(model=key, custom_llm_provider=provider, call_type="speech", prompt_characters=units["character"])
        )
    if "second" in units and entry.get("mode") == "video_generation":
        return default_video_cost_calculator(model=key, duration_seconds=units["second"], custom_llm_provider=provider)
    if "second" in units:
        return sum(
            cost_per_token(
                model=key,
                custom_llm_provider=provider,
                call_type="transcription",
                audio_transcription_file_duration=units["second"],
            )
        )
    if "page" in units or "annotated_page" in units:
        return ocr_cost(key, provider, units)
    of_litellm = usage_of(sample, entry)
    tier = usage.get("service_tier")
    residency = usage.get("region") if provider == "openai" else None
    if tier == "batch":
        return sum(batch_cost_calculator(of_litellm, key, provider, data_residency=residency))
    response = ModelResponse(model=key, usage=of_litellm)
    cost = litellm.completion_cost(
        completion_response=response,
        model=key,
        custom_llm_provider=provider,
        service_tier=None if tier == "fast" else tier,
        data_residency=residency,
    )
    if "web_search" in units and provider == "openai":
        # A chat response has no number of searches, so LiteLLM charges the price of a search for responses that have one.
        info = litellm.get_model_info(model=key, custom_llm_provider=provider)
        each = StandardBuiltInToolCostTracking.get_cost_for_web_search(model_info=info)
        included = StandardBuiltInToolCostTracking.get_cost_for_built_in_tools(
            model=key, response_object=response, usage=of_litellm, custom_llm_provider=provider
        )
        cost += each * units["web_search"] - included
    return cost


def ocr_cost(key, provider, units):
    from litellm.llms.base_llm.ocr.transformation import OCRResponse, OCRUsageInfo

    info = OCRUsageInfo(
        pages_processed=units.get("page", 0), pages_processed_annotation=units.get("annotated_page", 0)
    )
    response = OCRResponse(pages=[], model=key, usage_info=info)
    return sum(cost_per_token(model=key, custom_llm_provider=provider, call_type="ocr", response=response))


def reason_of(sample, entry, difference):
    """Why the two may differ; None if they must not. Reasons with a known effect must explain the difference exactly."""
    usage = sample["usage"]
    terms = sample["terms"]
    tier = usage.get("service_tier")
    suffix = {"batch": "_batches"}.get(tier, f"_{tier}")
    thresholds = {
        field.split("_above_")[-1].split("_tokens")[0]
        for field in entry
        if field.startswith("input_cost_per_token_above_")
    }
    prefixed = litellm.model_cost.get(PREFIXES.get(entry["litellm_provider"], "") + sample["model"])
    if prefixed is not None and prefixed is not entry and not prefixed.get("input_cost_per_token"):
        return "LiteLLM uses another entry of the same name, without a price"
    if "off_peak_pricing" in entry:
        return "LiteLLM applies rates by the time of day, and the sample names no time"
    if tier == "batch" and "one-hour write" in terms and is_one_hour_rate(sample, entry, difference):
        return "LiteLLM charges one-hour writes of batches like five-minute writes; Anthropic's factors multiply"
    if tier == "batch" and "region us" in terms and entry["litellm_provider"] == "anthropic":
        return "LiteLLM does not apply Anthropic's regional factor to batches"
    if tier and "long context" in terms:
        if not any(f"input_cost_per_token_above_{size}_tokens{suffix}" in entry for size in thresholds):
            return "LiteLLM has no rate of this tier for long contexts; Purser applies the tier's part of the flat rate"
    if tier == "batch" and usage["cached_input_tokens"] and f"cache_read_input_token_cost{suffix}" not in entry:
        return "LiteLLM charges cached tokens of batches as input where it has no rate; Purser keeps the flat rate"
    if tier == "batch" and usage["cache_write_tokens"] and f"cache_creation_input_token_cost{suffix}" not in entry:
        return "LiteLLM charges cache writes of batches as input where it has no rate; Purser keeps the flat rate"
    if tier == "batch" and (usage["audio_input_tokens"] or usage["audio_output_tokens"]):
        return "LiteLLM charges audio tokens of batches as text"
    units = usage.get("units", {})
    is_google = PROVIDERS[entry["litellm_provider"]] in ("gemini", "vertex_ai")
    if ("web_search" in units or "maps_query" in units) and is_google:
        is_search = "web_search" in units
        count = units["web_search"] if is_search else units["maps_query"]
        each = (
            entry["search_context_cost_per_query"]["search_context_size_medium"]
            if is_search
            else entry["google_maps_grounding_cost_per_query"]
        )
        is_per_prompt = (entry.get("web_search_billing_unit") or "per_prompt") == "per_prompt"
        if is_per_prompt and abs(difference - Decimal(repr(each)) * (count - 1)) <= TOLERANCE:
            return "LiteLLM charges one search per prompt; callers of Purser state the number that is billed"
    if "second" in units and abs(difference) <= units["second"] * TOLERANCE / 2:
        return "The price of a second has more than nine decimals and is rounded to nine"
    return None


def is_one_hour_rate(sample, entry, difference):
    """The one-hour rate of a batch is the part of the flat one-hour rate that batches pay of other writes."""
    write, long = "cache_creation_input_token_cost", ""
    if "long context" in sample["terms"]:
        long = "_above_" + next(iter(field.split("_above_")[-1] for field in entry if field.endswith("k_tokens")))
    rate = lambda field: Decimal(repr(entry[field]))  # noqa: E731
    in_batch = rate(f"{write}{long}_batches")
    one_hour = rate(f"{write}_above_1hr{long}") * in_batch / rate(f"{write}{long}")
    return abs(difference - sample["usage"]["cache_write_1h_tokens"] * (one_hour - in_batch)) <= TOLERANCE


def main(path):
    entries = entries_by_model()
    with open(path, encoding="utf-8") as file:
        samples = [json.loads(line) for line in file]
    equal, deviating = collections.Counter(), collections.Counter()
    reasons, unexplained = collections.Counter(), []
    for sample in samples:
        key, entry = entries[sample["model"]]
        theirs = Decimal(repr(litellm_cost(sample, key, entry)))
        difference = Decimal(sample["cost_usd"]) - theirs
        is_equal = abs(difference) <= TOLERANCE
        for term in sample["terms"] or ["flat rates"]:
            (equal if is_equal else deviating)[term] += 1
        if is_equal:
            continue
        reason = reason_of(sample, entry, difference)
        reasons[reason] += 1
        if reason is None:
            unexplained.append(f"{key} {json.dumps(sample)} LiteLLM: {theirs}")
    print(f"litellm {litellm_version()}: {len(samples)} usages of {len({one['model'] for one in samples})} models\n")
    print("| usages with | equal | deviating |\n|---|---|---|")
    for term in sorted({*equal, *deviating}):
        print(f"| {term} | {equal[term]} | {deviating[term]} |")
    print("\n| deviations | reason |\n|---|---|")
    for reason, count in sorted(reasons.items(), key=lambda item: -item[1]):
        print(f"| {count} | {reason or 'none'} |")
    for line in unexplained:
        print(line, file=sys.stderr)
    return 1 if unexplained else 0


def litellm_version():
    from importlib.metadata import version

    return version("litellm")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
