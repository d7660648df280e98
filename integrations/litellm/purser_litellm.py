"""Purser for the LiteLLM proxy: limits that hold under parallel calls.

Before each attempt of a call the proxy asks Purser for a decision, which reserves the maximum cost in every limit. After the attempt the real
usage is posted. Setup: README.md beside this file.
"""

import asyncio
import os
import time
import uuid
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

import httpx
import litellm
from fastapi import HTTPException
from litellm._logging import verbose_proxy_logger as log
from litellm.integrations.custom_logger import CustomLogger

#: Call types that cost money and whose usage is reported in tokens. The proxy makes asynchronous calls only.
METERED = {"acompletion", "atext_completion", "aembedding", "anthropic_messages", "aresponses"}
#: The parameter with the maximum of output tokens: those that a client may have set, then the one to set.
OUTPUT_PARAMETERS = {
    "anthropic_messages": ("max_tokens",),
    "aresponses": ("max_output_tokens",),
    "acompletion": ("max_completion_tokens", "max_tokens"),
    "atext_completion": ("max_tokens",),
}
#: LiteLLM's names of model providers that Purser's catalog calls otherwise.
PROVIDERS = {"gemini": "google", "vertex_ai": "google", "bedrock": "aws", "azure": "azure_openai"}
#: Fields of runs that a request may state in `metadata.purser`, besides tags.
REQUESTED_FIELDS = ("workflow", "deployment", "department", "project", "chain_id")
#: Seconds between two attempts to post what a call has used: half a minute at most.
RETRY_SECONDS = (0.2, 1, 5, 30)
#: A settlement that Purser has rejected for good is not sent again.
RETRIED_STATUSES = {408, 425, 429}
#: Seconds after which Purser releases the hold of a decision that is not settled.
HOLD_SECONDS = 900
#: A Purser that is slow already must not drown in requests for lost decisions.
RELEASING_MAX = 256


class Denied(HTTPException):
    """A call that Purser denied.

    After an exception with the status 402 or 429 LiteLLM disables a deployment for a while, and others it tries again. A limit of
    one team must not do that to all others: the router sees 422, which has neither effect, and the client gets the real status.
    """

    def __init__(self, response: httpx.Response):
        self.denied_status = response.status_code
        error = _error_of(response)
        headers = {"x-should-retry": "false"} if response.status_code == 402 else {}
        if "retry-after" in response.headers:
            headers["retry-after"] = response.headers["retry-after"]
        resets_at = (error.get("details") or {}).get("resets_at")
        self.message = f"{error.get('message', 'Denied by Purser.')}{f' Resets at {resets_at}.' if resets_at else ''}"
        super().__init__(status_code=422, detail={"error": {**error, "message": self.message}}, headers=headers)


class CallIdInUse(HTTPException):
    """Clients may choose the id of a call. Two calls in progress with the same one could not be told apart."""

    def __init__(self) -> None:
        self.message = "Another call with this id is in progress."
        super().__init__(status_code=422, detail={"error": {"code": "call_id_in_use", "message": self.message}})


class Unavailable(Exception):
    """Purser did not decide, and `PURSER_FAIL_MODE` is `closed`. The router may try again."""

    status_code = 503
    message = "Purser is unavailable"


@dataclass
class Attempt:
    """One attempt of a call at one deployment, from the decision to the settlement."""

    external_id: str
    model: str
    provider: str | None
    attribution: dict[str, Any]
    #: Upper bounds.
    input_tokens: int
    output_tokens: int
    #: LiteLLM's record of the call, the same one for all that happens within it.
    logged: Any
    #: Absent if Purser was unavailable and calls are allowed then.
    decision_id: str | None = None
    held_usd: str | None = None


class PurserCallback(CustomLogger):
    def __init__(self) -> None:
        super().__init__()
        self.url = os.environ.get("PURSER_URL", "http://localhost:8080").rstrip("/")
        self.key = os.environ.get("PURSER_KEY", "")
        self.fails_open = _fail_mode() == "open"
        self.timeout_seconds = float(os.environ.get("PURSER_TIMEOUT_SECONDS", "2"))
        self.default_output_tokens = int(os.environ.get("PURSER_DEFAULT_MAX_OUTPUT_TOKENS", "8192"))
        if not self.key:
            raise ValueError("PURSER_KEY is not set: create a key with the scopes edge:decide and runs:write")
        #: Attempts in progress, by the id of their call: a call has one at a time.
        self.attempts: dict[str, Attempt] = {}
        #: Held strongly: the event loop alone does not keep a task alive.
        self.settlements: set[asyncio.Task[None]] = set()
        #: Decisions whose answer did not arrive, and whose holds are being released.
        self.releasing = 0
        self._client: httpx.AsyncClient | None = None

    # Before an attempt

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict | None:
        kind = getattr(call_type, "value", call_type)
        call_id = _call_id(kwargs)
        if kind not in METERED or call_id is None:
            return None
        logged = kwargs.get("litellm_logging_obj")
        running = self.attempts.get(call_id)
        if running is not None:
            # LiteLLM may translate a call from one API to another, which reports a second call within the first.
            if running.logged is logged:
                return None
            raise CallIdInUse()
        model, provider = _model_of(kwargs)
        output_tokens, limited = self._limit_output(kwargs, kind, model)
        input_tokens = _input_tokens(model, kwargs)
        attempt = Attempt(f"litellm-{uuid.uuid4()}", model, provider, _attribution_of(kwargs), input_tokens, output_tokens, logged)
        request = {
            "model": model,
            **({"provider": provider} if provider else {}),
            "input_tokens": input_tokens,
            "max_output_tokens": output_tokens,
            **attempt.attribution,
        }
        self.attempts[call_id] = attempt
        try:
            decision = await self._decide(request, attempt.external_id)
        except BaseException as error:
            del self.attempts[call_id]
            if not isinstance(error, Denied):
                self._release_lost(request, attempt.external_id)
            raise
        if decision is None:
            self._release_lost(request, attempt.external_id)
        else:
            attempt.decision_id = decision["decision_id"]
            attempt.held_usd = decision.get("held_usd")
        return limited

    def _limit_output(self, kwargs: dict, kind: str, model: str) -> tuple[int, dict | None]:
        """Returns the maximum of output tokens, and the changed parameters if the client has not set any."""
        parameters = OUTPUT_PARAMETERS.get(kind)
        if parameters is None:
            return 0, None
        choices = kwargs.get("n") if isinstance(kwargs.get("n"), int) else 1
        for name in parameters:
            if isinstance(kwargs.get(name), int):
                return kwargs[name] * choices, None
        tokens = min(self.default_output_tokens, _model_maximum(model) or self.default_output_tokens)
        return tokens * choices, {**kwargs, parameters[-1]: tokens}

    async def _decide(self, request: dict, idempotency_key: str) -> dict | None:
        """Returns None if Purser is unavailable and calls are allowed then. A retry with the same key takes no second hold."""
        for _ in range(2):
            try:
                response = await self._send("POST", "/v1/edge/decision", request, {"idempotency-key": idempotency_key})
            except httpx.HTTPError as error:
                log.warning("purser: no decision: %r", error)
                continue
            if response.status_code == 200:
                return response.json()
            if response.status_code < 500:
                raise Denied(response)
            log.warning("purser: no decision: status %d", response.status_code)
        if self.fails_open:
            return None
        raise Unavailable(Unavailable.message)

    # After an attempt

    async def async_log_success_event(self, kwargs: dict, response_obj: Any, start_time: Any, end_time: Any) -> None:
        attempt = self._end(kwargs)
        if attempt is None:
            return
        if kwargs.get("cache_hit"):
            self._void(attempt)
            return
        usage = _usage_of(response_obj)
        latency_ms = max(0, round((end_time - start_time).total_seconds() * 1000))
        if usage is None:
            self._settle_at_hold(attempt, "succeeded")
        else:
            self._settle(attempt, {"status": "succeeded", "latency_ms": latency_ms, **usage})

    async def async_post_call_failure_deployment_hook(
        self, request_data: Any, exception: Exception, call_type: Any, fallback_depth: int | None = None
    ) -> None:
        if isinstance(exception, CallIdInUse):
            return
        attempt = self._end(request_data)
        if attempt is None:
            return
        if _was_answered(exception) or _was_not_sent(exception):
            self._void(attempt)
        else:
            self._settle_at_hold(attempt, "failed")

    async def async_log_failure_event(self, kwargs: dict, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """A stream that broke: attempts that failed before have ended."""
        if not isinstance(kwargs.get("exception"), CallIdInUse):
            self._end_at_hold(kwargs, "failed")

    async def async_post_call_streaming_iterator_hook(self, user_api_key_dict: Any, response: Any, request_data: dict) -> Any:
        """A client that leaves ends the stream without any other event."""
        try:
            async for chunk in response:
                yield chunk
        except Exception:
            self._end_at_hold(request_data, "failed")
            raise
        except BaseException:
            self._end_at_hold(request_data, "cancelled")
            raise

    async def async_post_call_failure_hook(
        self, request_data: dict, original_exception: Exception, user_api_key_dict: Any, traceback_str: str | None = None
    ) -> None:
        """The router is done with the exception: the client gets the status that Purser answered."""
        if isinstance(original_exception, Denied):
            original_exception.status_code = original_exception.denied_status

    def _end(self, kwargs: Any) -> Attempt | None:
        """Ends the attempt of a call. Whoever comes first reports it."""
        call_id = _call_id(kwargs)
        return None if call_id is None else self.attempts.pop(call_id, None)

    def _end_at_hold(self, kwargs: Any, status: str) -> None:
        attempt = self._end(kwargs)
        if attempt is not None:
            self._settle_at_hold(attempt, status)

    # Settlements

    def _settle_at_hold(self, attempt: Attempt, status: str) -> None:
        """What the provider bills is unknown and at most what was held, so that is posted: spend is never missing."""
        tokens = {"input_tokens": attempt.input_tokens, "output_tokens": attempt.output_tokens}
        cost = tokens if attempt.held_usd is None else {"cost_usd": attempt.held_usd}
        self._settle(attempt, {"status": status, "metadata": {"usage": "unknown"}, **cost})

    def _settle(self, attempt: Attempt, outcome: dict) -> None:
        run = {
            "external_id": attempt.external_id,
            "model": attempt.model,
            **({"provider": attempt.provider} if attempt.provider else {}),
            **attempt.attribution,
            **outcome,
            **({"decision_id": attempt.decision_id} if attempt.decision_id else {}),
        }
        self._in_background("POST", "/v1/runs", run)

    def _void(self, attempt: Attempt) -> None:
        if attempt.decision_id is not None:
            self._in_background("DELETE", f"/v1/decisions/{attempt.decision_id}", None)

    def _release_lost(self, request: dict, idempotency_key: str) -> None:
        """Purser may have decided although its answer did not arrive. Above the maximum, holds are left to expire."""
        if self.releasing < RELEASING_MAX:
            self.releasing += 1
            self._start(self._find_and_release(request, idempotency_key))

    async def _find_and_release(self, request: dict, idempotency_key: str) -> None:
        """The same key returns the decision that was made, or makes one that is released at once."""
        try:
            failures = 0
            expiry = time.monotonic() + HOLD_SECONDS
            while time.monotonic() < expiry:
                try:
                    response = await self._send("POST", "/v1/edge/decision", request, {"idempotency-key": idempotency_key})
                    if response.status_code == 200:
                        self._in_background("DELETE", f"/v1/decisions/{response.json()['decision_id']}", None)
                    if response.status_code < 500:
                        return
                except httpx.HTTPError as error:
                    log.warning("purser: a hold may be left, and is looked for again: %r", error)
                await asyncio.sleep(RETRY_SECONDS[min(failures, len(RETRY_SECONDS) - 1)])
                failures += 1
        finally:
            self.releasing -= 1

    def _in_background(self, method: str, path: str, body: dict | None) -> None:
        self._start(self._send_until_taken(method, path, body))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self.settlements.add(task)
        task.add_done_callback(self.settlements.discard)

    async def _send_until_taken(self, method: str, path: str, body: dict | None) -> None:
        """The `external_id` makes a repetition harmless. If the proxy ends before, the organization's `on_unsettled` applies."""
        failures = 0
        while True:
            try:
                response = await self._send(method, path, body)
                if body is not None and "decision_id" not in body and _is_denial(response):
                    # A run without a decision may be denied although its cost has been incurred. It is recorded past the checks if
                    # the key may do so.
                    response = await self._send("POST", "/v1/runs/bulk?enforcement=record", {"runs": [body]})
                if response.status_code < 500 and response.status_code not in RETRIED_STATUSES:
                    # A conflict is a settlement that has arrived before.
                    if response.status_code >= 400 and response.status_code not in (404, 409):
                        log.error("purser: rejected %s %s: %s", method, path, response.text)
                    return
            except httpx.HTTPError as error:
                log.warning("purser: %s %s failed and is sent again: %r", method, path, error)
            await asyncio.sleep(RETRY_SECONDS[min(failures, len(RETRY_SECONDS) - 1)])
            failures += 1

    async def _send(self, method: str, path: str, body: dict | None, headers: dict[str, str] | None = None) -> httpx.Response:
        if self._client is None:
            self._client = httpx.AsyncClient(
                base_url=self.url,
                timeout=self.timeout_seconds,
                headers={"authorization": f"Bearer {self.key}"},
                limits=httpx.Limits(max_connections=200, max_keepalive_connections=50),
            )
        return await self._client.request(method, path, json=body, headers=headers)


def _fail_mode() -> str:
    mode = os.environ.get("PURSER_FAIL_MODE", "closed")
    if mode not in ("open", "closed"):
        raise ValueError("PURSER_FAIL_MODE has to be open or closed")
    return mode


def _error_of(response: httpx.Response) -> dict:
    try:
        return response.json()["error"]
    except (ValueError, KeyError, TypeError):
        return {"code": "denied", "message": response.text[:500]}


def _is_denial(response: httpx.Response) -> bool:
    """Limits deny with 402, policies with 403, windows and chains with 429, which also says that there were too many requests."""
    return response.status_code in (402, 403) or (response.status_code == 429 and _error_of(response).get("code") != "rate_limited")


def _call_id(kwargs: Any) -> str | None:
    logging_object = kwargs.get("litellm_logging_obj")
    return getattr(logging_object, "litellm_call_id", None) or kwargs.get("litellm_call_id")


def _model_of(kwargs: dict) -> tuple[str, str | None]:
    """The name that the provider knows, without LiteLLM's prefix, and the provider in Purser's terms."""
    name = str(kwargs.get("model") or "")
    try:
        model, provider, _, _ = litellm.get_llm_provider(name, kwargs.get("custom_llm_provider"))
    except Exception:
        return name, None
    return model, PROVIDERS.get(provider, provider)


def _model_maximum(model: str) -> int | None:
    try:
        return litellm.get_model_info(model).get("max_output_tokens")
    except Exception:
        return None


def _input_tokens(model: str, kwargs: dict) -> int:
    """An estimate that is rather too high, since the hold has to cover the real input: tokenizers of other models count differently."""
    text = [kwargs.get(name) for name in ("input", "prompt", "system", "instructions") if kwargs.get(name)]
    messages = kwargs.get("messages")
    try:
        tokens = litellm.token_counter(model=model, messages=messages, tools=kwargs.get("tools")) if messages else 0
        tokens += litellm.token_counter(model=model, text=str(text)) if text else 0
    except Exception:
        tokens = len(str(messages or "").encode()) + len(str(text).encode())
    return tokens + tokens // 8 + 16


def _attribution_of(kwargs: dict) -> dict[str, Any]:
    """Team, end user, user and key of LiteLLM, and what the caller set in `metadata.purser`, which may not contradict them."""
    known = {**(kwargs.get("metadata") or {}), **(kwargs.get("litellm_metadata") or {})}
    requested = known.get("purser") or (known.get("requester_metadata") or {}).get("purser") or {}
    fields = {
        **{name: value for name, value in requested.items() if name in REQUESTED_FIELDS},
        "team": known.get("user_api_key_team_alias") or known.get("user_api_key_team_id"),
        "customer_id": known.get("user_api_key_end_user_id"),
        "member_id": known.get("user_api_key_user_id"),
    }
    tags = {**(requested.get("tags") or {}), "litellm_key": known.get("user_api_key_alias")}
    attribution: dict[str, Any] = {name: str(value)[:200] for name, value in fields.items() if value}
    tags = {str(name)[:64]: str(value)[:200] for name, value in tags.items() if value}
    return {**attribution, **({"tags": tags} if tags else {})}


def _usage_of(response: Any) -> dict | None:
    """Usage in the forms of the chat and the responses API. Cached tokens are part of the input in both."""
    usage = response.get("usage") if isinstance(response, dict) else getattr(response, "usage", None)
    if usage is None:
        return None
    get = usage.get if isinstance(usage, dict) else lambda name, default=None: getattr(usage, name, default)
    prompt = get("prompt_tokens", None)
    if prompt is None:
        prompt = get("input_tokens", None)
    if prompt is None:
        return None
    details = get("prompt_tokens_details", None) or get("input_tokens_details", None)
    cached = _number(details, "cached_tokens") or _number(usage, "cache_read_input_tokens")
    written = _number(details, "cache_creation_tokens") or _number(usage, "cache_creation_input_tokens")
    return {
        "input_tokens": max(prompt, cached + written),
        "output_tokens": get("completion_tokens", None) or get("output_tokens", None) or 0,
        **({"cached_input_tokens": cached} if cached else {}),
        **({"cache_write_tokens": written} if written else {}),
    }


def _number(holder: Any, name: str) -> int:
    value = holder.get(name) if isinstance(holder, dict) else getattr(holder, name, None)
    return value if isinstance(value, int) else 0


def _was_answered(exception: Exception) -> bool:
    """True if the provider answered with an error, which costs nothing."""
    unanswered = (litellm.Timeout, litellm.APIConnectionError, asyncio.CancelledError)
    return not isinstance(exception, unanswered) and "Connection error" not in str(exception)


def _was_not_sent(exception: BaseException | None) -> bool:
    while exception is not None:
        if isinstance(exception, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)):
            return True
        exception = exception.__cause__ or exception.__context__
    return False


purser = PurserCallback()
